#!/bin/sh
# Installs what is missing, builds, and runs the tests. Arguments go to `meson test`:
#   sh tests/run.sh --suite ops        sh tests/run.sh version        sh tests/run.sh --list
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh

set_up
complete_build
case " $* " in
*' --list '* | *' --help '* | *' -h '*) exec meson test -C build "$@" ;;
esac
tests_exist "$@" || exit 2
compile
rm -f build/meson-logs/testlog*.json
status=0
meson test -C build --no-rebuild --print-errorlogs "$@" || status=$?
python3 tests/skipped.py build/meson-logs/testlog*.json || :
# A run that ran nothing has shown nothing.
if ! cat build/meson-logs/testlog*.json 2>/dev/null | grep -qE '"result": "(OK|EXPECTEDFAIL)"'; then
    say 'No test passed: either all were skipped or none was named so.'
    [ "$status" -ne 0 ] || status=1
fi
exit "$status"
