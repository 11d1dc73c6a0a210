#!/bin/sh
# Installs a build into a folder of its own and builds every example against it in each of the
# ways that docs and README promise; runs the toy training from C++ and from Python.
#   tests/package/run.sh BUILD_DIR WORK_DIR
set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
stage=$work/stage

say() {
    printf '  %s\n' "$*"
}

DESTDIR=$stage meson install -C "$build" --no-rebuild >"$work/install.log" 2>&1 || {
    cat "$work/install.log"
    exit 1
}
pc=$(find "$stage" -name adze.pc)
prefix=$stage$(sed -n 's/^prefix=//p' "$pc")
libdir=$(dirname "$(dirname "$pc")")
version=$(sed -n 's/^Version: //p' "$pc")
export PKG_CONFIG_PATH="$(dirname "$pc")"
export LD_LIBRARY_PATH="$libdir"
library=adze # whose flags
flags() {
    # shellcheck disable=SC2046
    pkg-config --define-variable=prefix="$prefix" "$@" $(echo "$library" | tr , ' ')
}

say "adze $version: every header is installed"
(cd "$top/include" && find adze -name '*.h' ! -name mpi.h -o -name '*.hpp') | while read -r header; do
    [ -f "$prefix/include/$header" ] || {
        echo "not installed: $header"
        exit 1
    }
done

say 'the licence, the pages, and where the .pc files say that they are'
for page in LICENSE README.md docs/tutorial.md docs/loss-curve.svg; do
    [ -s "$prefix/share/doc/adze/$page" ] || {
        echo "not installed: $page"
        exit 1
    }
done
find "$libdir/pkgconfig" -name '*.pc' | while read -r file; do
    folder=$(pkg-config --define-variable=prefix="$prefix" --variable=docdir "$(basename "$file" .pc)")
    page=$folder$(sed -n 's|^URL: file://${docdir}||p' "$file")
    if ! grep -q '^License: MIT$' "$file" || [ ! -f "$page" ]; then
        echo "$file: no licence, or no page at its URL: $page"
        exit 1
    fi
done

say 'an installed program'
"$prefix/bin/ship" --version | grep -q "^ship, a program of adze $version" || {
    echo "$prefix/bin/ship does not say its version"
    exit 1
}

say 'pkg-config alone'
mkdir "$work/pkg-config"
sh "$top/tests/package/programs.sh" "$top" >"$work/programs"
while read -r name library files; do
    # shellcheck disable=SC2046,SC2086
    ${CC:-cc} -std=c11 -O1 -Wall -Wextra -Werror $(flags --cflags) $files \
        -o "$work/pkg-config/$name" $(flags --libs) -lm
    say "  $name"
done <"$work/programs"
library=adze
"$work/pkg-config/consumer"

say "docs/install.md's lines with pkg-config, over several openblas.pc, with gcc and clang"
sh "$top/tests/package/pkg_config.sh" "$prefix" "$libdir" "$work/lines"

say "docs/fortran.md's lines, and ctypes by the installed table"
sh "$top/tests/package/fortran.sh" "$prefix" "$libdir" "$work/fortran"

say 'CMake find_package'
cmake -S "$top/tests/package/cmake" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DADZE_VERSION="$version" >"$work/cmake.log" 2>&1 &&
    ninja -C "$work/cmake" >"$work/cmake.log" 2>&1 || {
    cat "$work/cmake.log"
    exit 1
}
"$work/cmake/consumer"
if cmake -S "$top/tests/package/cmake" -B "$work/cmake-newer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DADZE_VERSION=9.0 >/dev/null 2>&1; then
    echo 'find_package(adze 9.0) found this version'
    exit 1
fi

say 'libadze-mpi: pkg-config, CMake component'
sh "$top/tests/package/mpi.sh" "$stage" "$work/mpi"

say 'Meson subproject'
mkdir -p "$work/subproject/subprojects" "$work/subproject/tests" "$work/subproject/src"
cp "$top/src/shelves.txt" "$work/subproject/src/"
cp "$top/tests/package/subproject/meson.build" "$work/subproject/"
cp -R "$top/examples" "$top/programs" "$work/subproject/"
cp -R "$top/tests/package" "$work/subproject/tests/"
ln -s "$top" "$work/subproject/subprojects/adze"
(
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    cd "$work/subproject"
    meson setup build --buildtype=debug --force-fallback-for=adze \
        -Dadze:default_library=static -Dadze:release_in_parent=false -Dadze:buildtype=debug \
        --prefix="$work/prefix" >"$work/subproject.log" 2>&1 &&
        ninja -C build >"$work/subproject.log" 2>&1 &&
        meson install -C build --no-rebuild >"$work/subproject.log" 2>&1 || {
        cat "$work/subproject.log"
        exit 1
    }
    ./build/consumer
)
say "docs/install.md's subproject keeps its own optimisation, whatever the parent's build type"
mkdir -p "$work/readme/subprojects"
ln -s "$top" "$work/readme/subprojects/adze"
python3 "$top/tests/package/readme_snippet.py" "$top" "$work/readme"
# compiled_as WANTED OPTION...: of the compile commands alone, since an optimised build takes minutes.
compiled_as() {
    wanted=$1
    shift
    rm -rf "$work/readme/build"
    meson setup "$work/readme/build" "$work/readme" --force-fallback-for=adze "$@" \
        >"$work/readme.log" 2>&1 || {
        cat "$work/readme.log"
        exit 1
    }
    python3 "$top/tests/package/compiled_as.py" "$wanted" "$work/readme/build/compile_commands.json"
}
(
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    compiled_as release
    compiled_as release --buildtype=debugoptimized
    CFLAGS=-O2 compiled_as release --buildtype=plain # as distributions build
    compiled_as debug -Dadze:release_in_parent=false -Dadze:buildtype=debug
)

say 'exceptions out of callbacks, from C++17'
# shellcheck disable=SC2046
${CXX:-g++} -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror $(flags --cflags) \
    "$top/tests/package/exceptions.cpp" -o "$work/exceptions" $(flags --libs)
"$work/exceptions"

say 'adze.hpp'
# shellcheck disable=SC2046
${CXX:-g++} -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror $(flags --cflags) \
    "$top/tests/package/raii.cpp" -o "$work/raii" $(flags --libs)
"$work/raii"
sed -n '/^```cpp/,/^```/p' "$top/docs/recipes.md" | grep -v '^```' >"$work/recipe.cpp"
# shellcheck disable=SC2046
${CXX:-g++} -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror $(flags --cflags) \
    "$work/recipe.cpp" -o "$work/recipe" $(flags --libs)
"$work/recipe" >/dev/null

say 'the toy regression from C++17 and from Python'
# shellcheck disable=SC2046
${CXX:-g++} -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror $(flags --cflags) \
    "$top/tests/package/toy.cpp" -o "$work/toy" $(flags --libs)
from_cpp=$("$work/toy")
from_python=$(python3 "$top/tests/package/toy.py" "$(find "$libdir" -name 'libadze.so.?.?')")
say "  loss $from_cpp"
[ "$from_cpp" = "$from_python" ] || {
    echo "Python got $from_python"
    exit 1
}
