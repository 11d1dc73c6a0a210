#!/bin/sh
# Installs what is missing, builds what the tests need, and runs them.
#   sh tests/run.sh              the tests that find most faults in little time
#   sh tests/run.sh --all        all tests, with the kernels for all processors
#   sh tests/run.sh --suite ops        sh tests/run.sh version        sh tests/run.sh --list
# Further arguments go to `meson test`.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh

all=
if [ "${1-}" = --all ]; then
    all=all
    shift
fi
if [ -n "$all" ]; then set_up; else set_up -Dkernels=native; fi
complete_build $all
case " $* " in
*' --list '* | *' --help '* | *' -h '*) exec meson test -C build "$@" ;;
esac
tests_exist "$@" || exit 2
case " $* " in
*' --suite'* | *' --no-suite'*) chosen=yes ;;
*) chosen=$all$(names_among "$@") ;;
esac
if [ -z "$chosen" ]; then
    say 'These are the tests that find most faults in little time; sh tests/run.sh --all runs all of them.'
    set -- --no-suite thorough "$@"
fi
if [ -n "$all" ]; then
    compile
else
    # shellcheck disable=SC2046
    compile_files $(files_of_tests "$@")
fi
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
