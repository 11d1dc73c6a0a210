#!/bin/sh
# Lists the programs that must build against the installed library, one a line, as
#   NAME FILE...
# Each example is a file examples/NAME.c or a folder examples/NAME of its own, to which what is in
# examples/shared and examples/text belongs.
#   programs.sh TOP
set -eu
top=$1
echo "consumer $top/tests/package/consumer.c"
for file in "$top"/examples/*.c; do
    ! grep -q 'adze/mpi.h' "$file" || continue # mpi.sh builds these
    [ -f "$file" ] || continue
    echo "$(basename "$file" .c) $file"
done
for folder in "$top"/examples/*/; do
    [ -f "${folder}main.c" ] || continue
    set -- "$folder"*.c "$top"/examples/shared/*.c "$top"/examples/text/*.c
    echo "$(basename "$folder") $*"
done
