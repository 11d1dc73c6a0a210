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

# Likewise, of what adze can do without: plots, and oneDNN's products.
missing_extras() {
    command -v gnuplot >/dev/null 2>&1 || printf ' gnuplot-nox'
    has_header dnnl.h || printf ' libdnnl-dev'
}

# Of the Debian packages named, those that are not installed.
not_installed() {
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
            printf ' %s' "$package"
    done
}

# Installs Debian packages, saying the exact command first.
apt_install() {
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root='sudo '
    say "${as_root}apt-get update && ${as_root}apt-get install -y --no-install-recommends $*"
    if [ -n "$as_root" ] && ! command -v sudo >/dev/null 2>&1; then
        say 'This needs root: run the line above as root, without sudo, then try again.'
        return 1
    fi
    apt_log=$(mktemp)
    if { ${as_root}apt-get update &&
        ${as_root}env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "$@"; } >"$apt_log" 2>&1; then
        rm -f "$apt_log"
    else
        tail -n 30 "$apt_log" >&2
        rm -f "$apt_log"
        say 'The packages could not be installed (see above).'
        return 1
    fi
}

# Says what to install where there is no apt.
say_other_systems() {
    say "Missing here (Debian's names):$*"
    say 'Install what gives you a C compiler, Meson, Ninja, pkg-config, OpenBLAS, cmocka, jansson'
    say 'and (for plots) gnuplot, then try again:'
    say ''
    say '  Fedora  dnf install gcc meson ninja-build pkgconf-pkg-config openblas-devel libcmocka-devel jansson-devel gnuplot'
    say '  Arch    pacman -S gcc meson ninja pkgconf openblas cmocka jansson gnuplot'
    say '  Alpine  apk add build-base meson ninja pkgconf openblas-dev cmocka-dev jansson-dev gnuplot'
    say '  macOS   brew install meson ninja pkg-config openblas cmocka jansson gnuplot'
    say '          export PKG_CONFIG_PATH="$(brew --prefix openblas)/lib/pkgconfig"'
}

# Installs what is missing. Where the extras cannot be had, go on without.
install_missing() {
    packages=$(missing_packages)
    extras=$(missing_extras)
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

# An optimised build in build/, unless one is set up already (then its own options stay).
set_up() {
    install_missing || return 1
    if [ ! -f build/build.ninja ]; then
        say 'Setting up build/ ...'
        quietly meson setup build || return 1
    fi
}
