# What examples/run.sh, tests/run.sh and .ci/run share: install what is missing, set up build/.
# Sourced with the top of the tree as the current directory. Everything it says goes to stderr,
# so that a program's output stays its own.

say() {
    printf '%s\n' "$*" >&2
}

# Whether the C compiler is there and finds the C library's headers.
compiler_works() {
    command -v "${CC:-cc}" >/dev/null 2>&1 || return 1
    printf '#include <stdio.h>\nint main(void) { return 0; }\n' |
        ${CC:-cc} -x c - -o /dev/null 2>/dev/null
}

# Prints the Debian package of the C compiler that CC asks for: clang for clang, gcc-13 for "ccache gcc-13". Prints
# nothing for a compiler that is in no package of its name.
compiler_package() {
    compiler=${CC:-cc}
    compiler=${compiler##* }
    case ${compiler##*/} in
    cc) echo gcc ;;
    gcc | gcc-[0-9]* | clang | clang-[0-9]*) echo "${compiler##*/}" ;;
    esac
}

# Whether the C compiler finds a header.
has_header() {
    printf '#include <%s>\n' "$1" | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null
}

# A script that runs no tests sets this to false: it needs no cmocka.
with_tests=true

# Prints the Debian packages that would fill what is missing here.
missing_packages() {
    compiler_works || printf ' %s libc6-dev' "$(compiler_package)"
    command -v meson >/dev/null 2>&1 || printf ' meson'
    command -v ninja >/dev/null 2>&1 || command -v ninja-build >/dev/null 2>&1 ||
        printf ' ninja-build'
    if command -v pkg-config >/dev/null 2>&1; then
        pkg-config --exists openblas || printf ' libopenblas-openmp-dev'
        pkg-config --exists jansson || printf ' libjansson-dev'
    else
        printf ' pkg-config libopenblas-openmp-dev libjansson-dev'
    fi
    ! $with_tests || pkg-config --exists cmocka 2>/dev/null || printf ' libcmocka-dev'
}

# Prints the Debian packages of what adze can do without: files packed by gzip.
missing_extras() {
    has_header zlib.h || printf ' zlib1g-dev'
}

# Of the Debian packages named, those that are not installed.
not_installed() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
            printf ' %s' "$package"
    done
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null 2>&1
}

sudo_word=
[ "$(id -u)" -eq 0 ] || sudo_word='sudo '

# Runs apt-get as root. Shows the end of what it printed only when it fails.
apt_get() {
    apt_log=$(mktemp)
    # shellcheck disable=SC2086
    if ${sudo_word}env DEBIAN_FRONTEND=noninteractive apt-get "$@" >"$apt_log" 2>&1; then
        rm -f "$apt_log"
    else
        tail -n 30 "$apt_log" >&2
        rm -f "$apt_log"
        say "failed: apt-get $*"
        return 1
    fi
}

# Says the one line that installs Debian packages, complete, for whoever is root here.
say_line_for_root() {
    say ''
    say "apt-get update && apt-get install -y --no-install-recommends $*"
    say ''
}

# Says how much apt would download and unpack for Debian packages. Says nothing while apt has no lists.
say_size() {
    size=$(LC_ALL=C apt-get -o Debug::NoLocking=1 --print-uris -y --no-install-recommends install "$@" 2>/dev/null |
        sed -n -e 's/^Need to get \(.*\) of archives.*/This downloads \1/p' \
            -e 's/^After this operation, \(.*\) of additional disk space.*/ and takes \1 of disk space./p')
    [ -z "$size" ] || say "$(printf '%s' "$size" | tr -d '\n')"
}

# Updates apt's lists of packages, once.
apt_updated=
apt_update() {
    [ -z "$apt_updated" ] || return 0
    say "${sudo_word}apt-get update"
    apt_get update || return 1
    apt_updated=yes
}

# Installs Debian packages as root, saying the exact commands first.
apt_install() {
    if ! { apt_update && say_size "$@" && say "${sudo_word}apt-get install -y --no-install-recommends $*" &&
        apt_get install -y --no-install-recommends "$@"; }; then
        say 'The packages could not be installed (see above).'
        return 1
    fi
}

# Says which BLAS is here when OpenBLAS is not.
say_other_blas() {
    pkg-config --exists openblas 2>/dev/null && return
    for blas in flexiblas blis mkl-dynamic-lp64-seq cblas blas; do
        if pkg-config --exists "$blas" 2>/dev/null; then
            say "The BLAS that is here, $blas, does not do: adze calls functions that OpenBLAS alone has."
            return
        fi
    done
}

# Says what to install where there is no apt.
say_other_systems() {
    say "Missing here (Debian's names):$*"
    say_other_blas
    say 'Install what gives you a C compiler, Meson, Ninja, pkg-config, OpenBLAS, cmocka and jansson,'
    say 'then try again:'
    say ''
    say '  Fedora  dnf install gcc meson ninja-build pkgconf-pkg-config openblas-devel libcmocka-devel jansson-devel zlib-devel'
    say '  Arch    pacman -S gcc meson ninja pkgconf openblas cmocka jansson zlib'
    say '  Alpine  apk add build-base meson ninja pkgconf openblas-dev cmocka-dev jansson-dev zlib-dev'
    say '  macOS   brew install meson ninja pkg-config openblas cmocka jansson'
    say '          export PKG_CONFIG_PATH="$(brew --prefix openblas)/lib/pkgconfig"'
}

# Says that adze is built without Debian packages that it can do without, and how to get them.
go_on_without() {
    say "Going on without packages that adze can do without. Whenever root installs them, they will be used:"
    say_line_for_root "$@"
}

# Installs what is missing. Where the extras cannot be had, go on without: this is tried and said once, before
# build/ is set up.
install_missing() {
    if [ -z "$(compiler_package)" ] && ! compiler_works; then
        say "CC=$CC compiles nothing here, and no package has its name. Install it, or unset CC to build with gcc."
        return 1
    fi
    packages=$(missing_packages)
    extras=$(missing_extras)
    if [ -z "$packages" ] && [ -n "$sudo_word" ] && [ -f build/build.ninja ]; then
        return 0
    fi
    if [ -z "$packages$extras" ]; then
        return 0
    elif ! command -v apt-get >/dev/null 2>&1; then
        [ -n "$packages" ] || return 0
        say_other_systems "$packages$extras"
        return 1
    fi
    # shellcheck disable=SC2086
    if can_be_root && apt_install $packages $extras; then
        return 0
    elif [ -z "$packages" ]; then
        go_on_without $extras
    else
        say_size $packages $extras
        say_line_for_root $packages $extras
        say 'The line above needs root. Hand it to root as it is, then try again.'
        return 1
    fi
}

# Runs a command and shows what it printed only when it fails; on a terminal, shows it as it goes.
quietly() {
    if [ -t 2 ]; then
        "$@" >&2
        return
    fi
    quiet_log=$(mktemp)
    if "$@" >"$quiet_log" 2>&1; then
        rm -f "$quiet_log"
    else
        cat "$quiet_log" >&2
        rm -f "$quiet_log"
        say "failed: $*"
        return 1
    fi
}

# Reads what ninja prints; keeps it in a file and says each tenth of the work that is done.
say_tenths() {
    tenth=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$1"
        case $line in
        \[[0-9]*/[0-9]*\]*) ;;
        *) continue ;;
        esac
        all=${line%%]*}
        done_steps=${all%/*}
        done_steps=${done_steps#[}
        all=${all#*/}
        case $done_steps$all in
        *[!0-9]* | 0) continue ;;
        esac
        reached=$((all > 0 ? 10 * done_steps / all : 0))
        if [ "$reached" -gt "$tenth" ]; then
            say "  $((10 * reached))%"
        fi
        tenth=$reached
    done
}

# Compiles the targets named, or everything. Without a terminal it says how far it is, and shows what
# was printed only when it fails.
compile() {
    compile_by "meson compile -C build${*:+ $*}" meson compile -C build "$@"
}

# Compiles files of build/, as ninja names them.
compile_files() {
    if command -v ninja >/dev/null 2>&1; then
        compile_by 'ninja -C build' ninja -C build "$@"
    else
        compile_by 'ninja -C build' ninja-build -C build "$@"
    fi
}

# Runs a command of a build, which has a short name for the message when it fails: compile_by NAME COMMAND...
compile_by() {
    say 'Building ...'
    build_name=$1
    shift
    if [ -t 2 ]; then
        "$@" >&2
        return
    fi
    build_log=$(mktemp)
    build_status=$(mktemp)
    {
        NINJA_STATUS='[%f/%t] ' "$@" 2>&1 || echo failed >"$build_status"
    } | say_tenths "$build_log"
    build_failed=$(cat "$build_status")
    if [ -n "$build_failed" ]; then
        cat "$build_log" >&2
        say "failed: $build_name"
    fi
    rm -f "$build_log" "$build_status"
    [ -z "$build_failed" ]
}

# Whether build/ can be made here and written to; says what to do when it cannot.
can_write() {
    if mkdir -p build 2>/dev/null && probe=$(mktemp build/.probe.XXXXXX 2>/dev/null); then
        rm -f "$probe"
        rmdir build 2>/dev/null || :
        return 0
    fi
    say "Nothing can be written to $(pwd -P)/build: the disk is read-only, or the folder is another user's."
    say 'Copy the tree to a folder of your own and run the command there.'
    return 1
}

# Prints what a build depends on: where it stands, its Meson, and what it would find here.
what_is_here() {
    pwd -P
    printf 'Meson %s\n' "$(meson --version)"
    for name in openblas jansson cmocka ompi-c mpich; do
        printf '%s %s\n' "$name" "$(pkg-config --modversion "$name" 2>/dev/null)"
    done
    ! has_header zlib.h || echo zlib.h
    for program in mpicc mpirun mpirun.openmpi mpirun.mpich valgrind; do
        command -v "$program" || :
    done
}

# Whether build/ was set up in the folder in which it stands, by the Meson that is here. Without a record, Meson's
# own file tells the folder. Reads $is_here.
is_in_its_place() {
    if [ -f build/set_up_with ]; then
        [ "$(sed 2q build/set_up_with)" = "$(printf '%s\n' "$is_here" | sed 2q)" ]
    else
        here=$(pwd -P | sed 's/ /$ /g')
        grep -qF -e "regenerate $here " -e "regenerate '$here' " build/build.ninja
    fi
}

# Sets build/ up for the folder in which it stands, with the options that it has. What is compiled stays.
set_up_in_its_place() {
    set --
    while IFS='=' read -r key value; do
        case $key in
        '[options]' | '') ;;
        '['*) break ;;
        *) set -- "$@" "-D${key% }=${value# }" ;;
        esac
    done <build/meson-private/cmd_line.txt
    rm -rf build/meson-private build/meson-info build/build.ninja
    quietly meson setup build "$@"
}

# An optimised build in build/, with the Meson options given. One that is set up already keeps its own options. It
# is set up again when the tree was moved, when Meson is another one, or when other things are installed.
set_up() {
    can_write || return 1
    install_missing || return 1
    is_here=$(what_is_here)
    if [ ! -f build/build.ninja ]; then
        say 'Setting up build/ ...'
        quietly meson setup build "$@" || return 1
    elif ! is_in_its_place; then
        say 'The tree was moved or copied, or Meson is another one. Setting up build/ for this folder ...'
        set_up_in_its_place || return 1
    elif [ "$(cat build/set_up_with 2>/dev/null)" != "$is_here" ]; then
        say 'Looking again at what is installed here ...'
        quietly meson configure build --clearcache || return 1
        quietly meson setup --reconfigure build || return 1
    fi
    printf '%s\n' "$is_here" >build/set_up_with
}

# Adds the tests to a build/ that examples/run.sh has set up without them. With the word "all", adds the kernels for
# other processors and what else a first build left out.
complete_build() {
    options=$(meson introspect build --buildoptions | tr '{' '\n')
    missing=$(printf '%s\n' "$options" | sed -n -e 's/.*"name": "tests".*"value": false.*/-Dtests=true/p')
    if [ "${1-}" = all ]; then
        missing="$missing $(printf '%s\n' "$options" | sed -n \
            -e 's/.*"name": "kernels".*"value": "native".*/-Dkernels=all/p')"
    fi
    if [ -n "${missing# }" ]; then
        say "Adding to build/:${missing}"
        # shellcheck disable=SC2086
        quietly meson configure build $missing
    fi
}

# Prints the files that the tests need which these arguments of `meson test` choose, as ninja names them.
files_of_tests() {
    meson introspect build --tests >build/meson-logs/tests.json
    meson introspect build --targets >build/meson-logs/targets.json
    meson test -C build --no-rebuild --list "$@" 2>/dev/null |
        python3 tests/needed.py build/meson-logs/tests.json build/meson-logs/targets.json build
}

# Brings Meson's list of tests up to date, after meson.build or an option has changed.
renew_list() {
    for ninja in ninja ninja-build; do
        if command -v "$ninja" >/dev/null 2>&1; then
            "$ninja" -C build build.ninja >/dev/null 2>&1 || : # the build says what is wrong
            return
        fi
    done
}

# Prints the five names of tests that are closest to a misspelt one, the closest first. Meson lists "adze:ops / NAME";
# Meson 1.12 lists "ops - adze:NAME".
close_names() {
    meson test -C build --no-rebuild --list 2>/dev/null | sed -e 's|.* / ||' -e 's|^[^:]* - [^:]*:||' | awk -v wanted="$1" '
        function least(a, b) { return a < b ? a : b }
        function distance(a, b,    i, j, row, left, above) {
            for (j = 0; j <= length(b); ++j) row[j] = j
            for (i = 1; i <= length(a); ++i) {
                left = row[0]
                row[0] = i
                for (j = 1; j <= length(b); ++j) {
                    above = row[j]
                    row[j] = least(least(above, row[j - 1]) + 1, left + (substr(a, i, 1) != substr(b, j, 1)))
                    left = above
                }
            }
            return row[length(b)]
        }
        {
            d = index($0, wanted) ? 0 : distance(wanted, $0)
            print d, $0
        }' | sort -n | sed -e 's/^[0-9.]* //' -e 5q
}

# Prints the words of the arguments of `meson test` that name tests: those that are neither options nor their values.
names_among() {
    is_value=false
    for word in "$@"; do
        if $is_value; then
            is_value=false
            continue
        fi
        case $word in
        -C | -j | -t | --gdb-path | --logbase | --max-lines | --maxfail | --no-suite | --num-processes | \
            --repeat | --setup | --slice | --suite | --test-args | --timeout-multiplier | --wrapper) is_value=true ;;
        -*) ;;
        *) printf '%s\n' "$word" ;;
        esac
    done
}

# Whether every test that the arguments of `meson test` name exists, and some test is left; says what is wrong.
tests_exist() {
    renew_list
    names_among "$@" | {
        while IFS= read -r word; do
            meson test -C build --no-rebuild --list "$word" >/dev/null 2>&1 && continue
            say "There is no test $word. These names are close to it:"
            say "$(close_names "$word" | sed 's/^/  /')"
            say 'sh tests/run.sh --list names all tests.'
            exit 1
        done
    } || return 1
    refused=$(meson test -C build --no-rebuild --list "$@" 2>&1 >/dev/null) || {
        say "No test fits: $*. ${refused:-sh tests/run.sh --list names all tests.}"
        return 1
    }
}
