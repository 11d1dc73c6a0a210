#!/bin/sh
# Everything in the public headers is documented, parameters and results included.
#   reference.sh TOP OUTPUT_DIR
# Without doxygen the check is skipped (77).
set -eu
command -v doxygen >/dev/null 2>&1 || {
    echo 'doxygen is not installed'
    exit 77
}
mkdir -p "$2"
cd "$1"
{
    cat docs/Doxyfile
    echo "OUTPUT_DIRECTORY = $2"
} | doxygen -
