#!/bin/sh
# Fortran programs by the lines of docs/fortran.md, and Python's ctypes by the installed table:
#   tests/package/fortran.sh PREFIX LIBDIR WORK_DIR
# LIBDIR has pkgconfig/adze-fortran.pc. Without gfortran only the files are looked for.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$1
libdir=$2
rm -rf "$3"
mkdir -p "$3/pc"
cd "$3"
shelves=$(sed '/^#/d; s/ |.*//' "$top/src/shelves.txt")
# shellcheck disable=SC2086
for name in adze adze-fortran $(printf 'adze-%s ' $shelves); do
    sed "s|^prefix=.*|prefix=$prefix|" "$libdir/pkgconfig/$name.pc" >"pc/$name.pc"
done
export PKG_CONFIG_PATH="$PWD/pc" LD_LIBRARY_PATH="$libdir"

for variable in source interface; do
    file=$(pkg-config --variable=$variable adze-fortran)
    [ -s "$file" ] || {
        echo "adze-fortran.pc names $file, which is not installed"
        exit 1
    }
done
# shellcheck disable=SC2046,SC2059,SC2086
PYTHONDONTWRITEBYTECODE=1 python3 "$top/tests/python/test_table.py" "$libdir/libadze.so" \
    "$(pkg-config --variable=interface adze-fortran)" $(printf "$libdir/libadze-%s.so " $shelves)
command -v gfortran >/dev/null 2>&1 || {
    echo '    without gfortran, which is not installed'
    exit 0
}

# The first whole program of the page, and the example, by the lines of the page.
awk '/^```fortran$/ { block = 1; next } /^```$/ { if (whole) exit; block = 0 }
    block && /^program / { whole = 1 } whole { print }' "$top/docs/fortran.md" >program.f90
grep -A1 '^gfortran -c' "$top/docs/fortran.md" >lines
[ "$(wc -l <lines)" -eq 2 ] || {
    echo 'docs/fortran.md no longer says in two lines how to compile a program'
    exit 1
}
sh -eu ./lines
./program
cp "$top/examples/fortran/train.f90" program.f90
sh -eu ./lines
./program
