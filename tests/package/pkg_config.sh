#!/bin/sh
# The lines of docs/install.md with pkg-config, with gcc and with clang:
#   tests/package/pkg_config.sh PREFIX LIBDIR WORK_DIR
# LIBDIR has pkgconfig/adze.pc. Once with this system's openblas.pc; once with one that asks for OpenMP and
# whose private libraries are missing, as Debian's may; once without openblas.pc and jansson.pc.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$1
libdir=$2
rm -rf "$3"
mkdir -p "$3/openmp" "$3/bare"
work=$(cd "$3" && pwd)

names_of=$(sed '/^#/d; s/ |.*//; s/^/adze-/' "$top/src/shelves.txt")
for pc in adze $names_of; do
    cp "$libdir/pkgconfig/$pc.pc" "$work/bare"
    cp "$libdir/pkgconfig/$pc.pc" "$work/openmp"
done
cat >"$work/openmp/openblas.pc" <<'PC'
Name: openblas
Description: OpenBLAS as some distributions describe it
Version: 0.3.29
Libs: -L/usr/lib/nowhere -lopenblas
Libs.private: -lm -lno_such_fortran -lno_such_openmp
Cflags: -fopenmp
PC
printf 'Name: jansson\nDescription: JSON\nVersion: 2.14\nLibs: -ljansson\n' >"$work/openmp/jansson.pc"
cat >"$work/no_openmp.h" <<'H'
#ifdef _OPENMP
#error "pkg-config turns OpenMP on in a program that did not ask for it"
#endif
H

# The lines themselves. docs/install.md has a prefix of its own where the last one says $libdir.
dynamic='$CC program.c $(pkg-config --cflags --libs adze) -o program'
zoo='$CC program.c $(pkg-config --cflags --libs adze-zoo) -o program'
onnx='$CC program.c $(pkg-config --cflags --libs adze-onnx) -o program'
models='$CC program.c $(pkg-config --cflags --libs adze-models) -o program'
with_rpath='$CC program.c $(pkg-config --cflags --libs adze) -Wl,-rpath,"$libdir" -o program'
static='$CC program.c $(pkg-config --cflags --libs --static adze | sed s/-ladze/-l:libadze.a/) -o program'

# runs HEADING LIBRARY_PATH LINE: compiles examples/toy_regression.c by a line and runs it.
runs() {
    (
        cd "$work"
        cp "$top/examples/toy_regression.c" program.c
        mkdir -p shared
        cp "$top/examples/shared/about.h" shared
        rm -f program
        eval "$3" >log 2>&1 || {
            echo "$1: $3"
            cat log
            exit 1
        }
        LD_LIBRARY_PATH=$2 ./program >said
    )
}

export libdir
for compiler in gcc clang; do
    if ! command -v "$compiler" >/dev/null 2>&1; then
        echo "    without $compiler, which is not installed"
        continue
    fi
    for names in "$libdir/pkgconfig" "$work/openmp" "$work/bare"; do
        CC="$compiler -include $work/no_openmp.h -I$top/examples"
        unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR
        if [ "$names" = "$libdir/pkgconfig" ]; then
            export PKG_CONFIG_PATH="$names"
        else
            export PKG_CONFIG_LIBDIR="$names"
        fi
        where=$compiler${names#"$work"}
        for pc in adze $names_of; do
            sed -i.before "s|^prefix=.*|prefix=$prefix|" "$names/$pc.pc"
        done
        status=0
        runs "$where" "$libdir" "$dynamic" && runs "$where" "$libdir" "$zoo" &&
            runs "$where" "$libdir" "$onnx" && runs "$where" "$libdir" "$models" && runs "$where" '' "$with_rpath" || status=1
        if [ "$status" -eq 0 ] && [ -f "$libdir/libadze.a" ]; then
            runs "$where" '' "$static" || status=1
        fi
        for pc in adze $names_of; do
            mv "$names/$pc.pc.before" "$names/$pc.pc"
        done
        [ "$status" -eq 0 ] || exit 1
    done
done
