#!/bin/sh
# The programs of docs/languages.md, built and run by the lines of the page over an installed adze:
#   tests/package/languages.sh WORK_DIR
# PKG_CONFIG_PATH and LD_LIBRARY_PATH say where adze is, if it is not where all programs look. Every program must print
# the same number, which the page's C program prints.
set -eu
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/languages.md
rm -rf "$1"
mkdir -p "$1"
cd "$1"
export GOCACHE="$PWD/go"

# Each section has a program in one block and the lines that build and run it in another.
wanted=
for section in 'C c' 'Fortran f90' 'LuaJIT lua' 'Go go' 'Rust rs' 'OCaml ml'; do
    name=${section% *}
    ending=${section#* }
    awk -v name="## $name" -v program="sine.$ending" -v lines="$name.sh" '
        /^## / { here = $0 == name }
        here && /^```$/ { file = "" }
        here && file != "" { print >file }
        here && /^```[a-z]/ { file = $0 == "```sh" ? lines : program }' "$page"
    if ! [ -s "sine.$ending" ] || ! [ -s "$name.sh" ]; then
        echo "docs/languages.md has no program in $name"
        exit 1
    fi
    said=$(sh -eu "./$name.sh" 2>log) || {
        cat log
        echo "$name: the lines of the page failed"
        exit 1
    }
    echo "  $name $said"
    wanted=${wanted:-$said}
    case $said in
    0.0[0-9][0-9][0-9][0-9][0-9]) ;;
    *)
        echo "$name does not print a small loss"
        exit 1
        ;;
    esac
    [ "$said" = "$wanted" ] || {
        echo "$name prints $said, and C $wanted"
        exit 1
    }
done
