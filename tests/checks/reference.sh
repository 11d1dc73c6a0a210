#!/bin/sh
# Everything in the public headers is documented, parameters and results included, and the pages have a front page.
#   reference.sh TOP OUTPUT_DIR
# Without doxygen the check is skipped (77). Doxygen makes the folder of the pages itself, as in a fresh clone.
set -eu
command -v doxygen >/dev/null 2>&1 || {
    echo 'doxygen is not installed'
    exit 77
}
rm -rf "$2"
cd "$1"
{
    cat docs/Doxyfile
    echo "OUTPUT_DIRECTORY = $2"
} | doxygen -
grep -q 'The functions of adze' "$2/reference/index.html"
