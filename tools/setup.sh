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

# Whether the C compiler finds a header.
has_header() {
    printf '#include <%s>\n' "$1" | ${CC:-cc} -x c -fsyntax-only - 2>/dev/null
}

# Prints the Debian packages that would fill what is missing here.
missing_packages() {
    compiler_works || printf ' gcc libc6-dev'
    command -v meson >/dev/null 2>&1 || printf ' meson'
    command -v ninja >/dev/null 2>&1 || command -v ninja-build >/dev/null 2>&1 ||
        printf ' ninja-build'
    if command -v pkg-config >/dev/null 2>&1; then
        pkg-config --exists openblas || printf ' libopenblas-openmp-dev'
        pkg-config --exists cmocka || printf ' libcmocka-dev'
        pkg-config --exists jansson || printf ' libjansson-dev'
    else
        printf ' pkg-config libopenblas-openmp-dev libcmocka-dev libjansson-dev'
    fi
}

# Whether the libdnnl-dev that apt would install is oneDNN 2. With oneDNN 3 adze builds nothing.
apt_has_onednn_2() {
    LC_ALL=C apt-cache policy libdnnl-dev 2>/dev/null | grep -qE '^ *Candidate: ([0-9]+:)?2\.'
}

# Prints the Debian packages of what adze can do without: plots, files packed by gzip, and oneDNN's
# products.
missing_extras() {
    command -v gnuplot >/dev/null 2>&1 || printf ' gnuplot-nox'
    has_header zlib.h || printf ' zlib1g-dev'
    if ! has_header dnnl.h && apt_has_onednn_2; then
        printf ' libdnnl-dev'
    fi
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
    say 'The line above needs root. Hand it to root as it is, then try again.'
}

# Updates apt's lists of packages, once.
apt_updated=
apt_update() {
    [ -z "$apt_updated" ] || return 0
    say "${sudo_word}apt-get update"
    apt_get update || return 1
    apt_updated=yes
}

# Installs Debian packages, saying the exact commands first.
apt_install() {
    if ! can_be_root; then
        say_line_for_root "$@"
        return 1
    fi
    if ! { apt_update && say "${sudo_word}apt-get install -y --no-install-recommends $*" &&
        apt_get install -y --no-install-recommends "$@"; }; then
        say 'The packages could not be installed (see above).'
        [ -z "$sudo_word" ] || say_line_for_root "$@"
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
    say 'Install what gives you a C compiler, Meson, Ninja, pkg-config, OpenBLAS, cmocka, jansson'
    say 'and (for plots) gnuplot, then try again:'
    say ''
    say '  Fedora  dnf install gcc meson ninja-build pkgconf-pkg-config openblas-devel libcmocka-devel jansson-devel gnuplot zlib-devel'
    say '  Arch    pacman -S gcc meson ninja pkgconf openblas cmocka jansson gnuplot zlib'
    say '  Alpine  apk add build-base meson ninja pkgconf openblas-dev cmocka-dev jansson-dev gnuplot zlib-dev'
    say '  macOS   brew install meson ninja pkg-config openblas cmocka jansson gnuplot'
    say '          export PKG_CONFIG_PATH="$(brew --prefix openblas)/lib/pkgconfig"'
}

# Installs what is missing. Where the extras cannot be had, go on without.
install_missing() {
    packages=$(missing_packages)
    extras=$(missing_extras)
    # A bare system has no lists of packages, so apt does not know yet which oneDNN it has.
    if [ -n "$packages$extras" ] && can_be_root && command -v apt-cache >/dev/null 2>&1 &&
        [ -z "$(apt-cache policy libdnnl-dev 2>/dev/null)" ]; then
        if ! apt_update; then
            [ -z "$packages" ] || return 1
            say "Going on without:$extras"
            return 0
        fi
        extras=$(missing_extras)
    fi
    if [ -z "$packages$extras" ]; then
        return 0
    elif ! command -v apt-get >/dev/null 2>&1; then
        [ -n "$packages" ] || return 0
        say_other_systems "$packages$extras"
        return 1
    fi
    # shellcheck disable=SC2086
    if ! apt_install $packages $extras; then
        [ -z "$packages" ] || return 1
        say "Going on without:$extras"
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
    say 'Building ...'
    if [ -t 2 ]; then
        meson compile -C build "$@" >&2
        return
    fi
    build_log=$(mktemp)
    build_status=$(mktemp)
    {
        NINJA_STATUS='[%f/%t] ' meson compile -C build "$@" 2>&1 || echo failed >"$build_status"
    } | say_tenths "$build_log"
    build_failed=$(cat "$build_status")
    if [ -n "$build_failed" ]; then
        cat "$build_log" >&2
        say "failed: meson compile -C build${*:+ $*}"
    fi
    rm -f "$build_log" "$build_status"
    [ -z "$build_failed" ]
}

# An optimised build in build/, with the Meson options given, unless one is set up already: then its own
# options stay.
set_up() {
    install_missing || return 1
    if [ ! -f build/build.ninja ]; then
        say 'Setting up build/ ...'
        quietly meson setup build "$@" || return 1
    fi
}

# Kernels for all processors, where set_up chose those of this one alone.
build_all_kernels() {
    if meson introspect build --buildoptions | tr '{' '\n' | grep '"name": "kernels"' | grep -q '"value": "native"'; then
        say 'Adding the kernels for other processors to build/ ...'
        quietly meson configure build -Dkernels=all
    fi
}
