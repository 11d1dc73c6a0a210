#!/bin/sh
# Builds and runs a program over an installed libadze-mpi, with pkg-config and with CMake.
#   tests/package/mpi.sh STAGE WORK_DIR
# STAGE is the DESTDIR of an installed build. Where that build has no libadze-mpi, its header must not
# be installed, and find_package must say that there is no such component.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
stage=$1
rm -rf "$2"
mkdir -p "$2/pc"
work=$(cd "$2" && pwd)
pc=$(dirname "$(find "$stage" -name adze.pc)")
prefix=$stage$(sed -n 's/^prefix=//p' "$pc/adze.pc")
export LD_LIBRARY_PATH="$(dirname "$pc")"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if [ ! -f "$pc/adze-mpi.pc" ]; then
    [ ! -f "$prefix/include/adze/mpi.h" ] || {
        echo 'adze/mpi.h is installed without libadze-mpi'
        exit 1
    }
    cmake -S "$top/tests/package/mpi" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
        >"$work/cmake.log" 2>&1 && exit 1
    grep -q 'no component mpi' "$work/cmake.log"
    exit
fi

# Only our own files move to the stage, not those of MPI.
for file in adze adze-mpi; do
    sed "s|^prefix=.*|prefix=$prefix|" "$pc/$file.pc" >"$work/pc/$file.pc"
done
export PKG_CONFIG_PATH="$work/pc"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags adze-mpi) \
    "$top/tests/package/distributed.c" -o "$work/distributed" $(pkg-config --libs adze-mpi)
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags adze-mpi) \
    "$top/examples/data_parallel.c" -o "$work/data_parallel" $(pkg-config --libs adze-mpi)
"$work/data_parallel" >"$work/said"
grep -q '^step  300  loss ' "$work/said" || {
    cat "$work/said"
    exit 1
}
cmake -S "$top/tests/package/mpi" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    >"$work/cmake.log" 2>&1 &&
    ninja -C "$work/cmake" >"$work/cmake.log" 2>&1 || {
    cat "$work/cmake.log"
    exit 1
}
for program in "$work/distributed" "$work/cmake/distributed"; do
    "$program" >"$work/said" || {
        cat "$work/said"
        exit 1
    }
    grep -q '^rank 0 of 1 (MPI on .*): 1$' "$work/said"
done
# A program over libadze alone needs no MPI.
if readelf -d "$LD_LIBRARY_PATH/libadze.so" | grep NEEDED | grep -E 'lib(mpi|mpich)'; then
    echo 'libadze.so needs MPI'
    exit 1
fi
