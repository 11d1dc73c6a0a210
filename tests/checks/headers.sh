#!/bin/sh
# Compiles each public header alone, and once more included twice, without a warning.
#   headers.sh INCLUDE_DIR LANGUAGE COMPILER FLAGS...
# LANGUAGE is c or c++; without the compiler the check is skipped (77). adze/mpi.h needs MPI's headers:
# it is checked if the flags name MPI's folder (ADZE_WITH_MPI).
set -eu
dir=$1 language=$2 compiler=$3
shift 3
command -v "$compiler" >/dev/null 2>&1 || {
    echo "$compiler is not installed"
    exit 77
}

checked=0
case "$language $*" in
    *ADZE_WITH_MPI*) headers=adze/mpi.h ;;
    'c++ '*) headers=$(cd "$dir" && find adze -name '*.h*' ! -name mpi.h | sort) ;;
    *) headers=$(cd "$dir" && find adze -name '*.h' ! -name mpi.h | sort) ;;
esac
for header in $headers; do
    printf '#include <%s>\n#include <%s>\nint adz_header_alone(void);\n' "$header" "$header" |
        "$compiler" -x "$language" "$@" -I "$dir" -fsyntax-only - || {
        echo "$header does not compile alone with $compiler $*"
        exit 1
    }
    checked=$((checked + 1))
done
echo "$checked headers compile alone with $compiler $*"
[ "$checked" -gt 0 ]
