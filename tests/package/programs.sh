#!/bin/sh
# Lists the programs that must build against the installed library, one a line, as
#   NAME LIBRARY FILE...
# LIBRARY is adze, or the libraries of src/shelves.txt that the program needs, as adze-zoo,adze-onnx.
# Each example is a file examples/NAME.c or a folder examples/NAME, and an installed program a folder programs/NAME.
# To a folder, and to a file that includes one of its headers, belongs what is in examples/shared and examples/text.
# If a folder includes a header of another program, the C file of that header's name belongs to it.
#   programs.sh TOP
set -eu
top=$1
library() {
    needed=
    for shelf in $(sed '/^#/d; s/ |.*//' "$top/src/shelves.txt"); do
        ! grep -qE "adze/$shelf[./]" "$@" || needed=$needed,adze-$shelf
    done
    needed=${needed#,}
    echo "${needed:-adze}"
}
echo "consumer adze $top/tests/package/consumer.c"
for file in "$top"/examples/*.c; do
    ! grep -q 'adze/mpi.h' "$file" || continue # mpi.sh builds these
    [ -f "$file" ] || continue
    set -- "$file"
    # shared/about.h needs no other file.
    ! grep '#include "shared/' "$file" | grep -qv 'about\.h' || set -- "$@" "$top"/examples/shared/*.c "$top"/examples/text/*.c
    echo "$(basename "$file" .c) $(library "$@") $*"
done
for folder in "$top"/examples/*/ "$top"/programs/*/; do
    [ -f "${folder}main.c" ] || continue
    set -- "$folder"*.c "$top"/examples/shared/*.c "$top"/examples/text/*.c
    for header in $(sed -nE 's/^#include "\.\.\/(\.\.\/examples\/)?(.*)\.h"$/\2/p' "$folder"*.[ch] | sort -u); do
        case $header in
        shared/* | text/*) ;;
        *) set -- "$@" "$top/examples/$header.c" ;;
        esac
    done
    echo "$(basename "$folder") $(library "$@") $*"
done
