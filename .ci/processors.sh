# The tests as they run on other processors, and with each kind of OpenBLAS.
# Sourced by .ci/run and .ci/full with the top of the tree as the current directory.
#
# A processor is played by one with more instructions: ADZE_CPU limits adze's kernels, and OPENBLAS_CORETYPE
# chooses OpenBLAS's.

# name; flags of /proc/cpuinfo that it takes; ADZE_CPU; OPENBLAS_CORETYPE
processors='
sse4;sse4_1;baseline;Nehalem
avx;avx;baseline;Sandybridge
avx2-intel;avx2 fma bmi2 f16c;avx2;Haswell
avx2-amd;avx2 fma bmi2 f16c;avx2;Zen
avx512;avx512f avx512dq avx512bw avx512vl;avx512;SkylakeX
avx512-bf16;avx512_bf16 avx512vl;avx512;Cooperlake
avx512-openblas-without;avx512f avx512dq avx512bw avx512vl;avx512;Zen
'
all_processors=$(printf '%s' "$processors" | sed -n 's/;.*//p')

# Whether this processor has all of the flags.
has_flags() {
    local flag
    for flag in "$@"; do
        grep -m 1 '^flags' /proc/cpuinfo | grep -qw "$flag" || return 1
    done
}

# Prints the folder of an OpenBLAS of that kind: pthread, openmp or serial. One that is not installed is
# unpacked next to the build, because its installation would make it the system's own.
openblas_folder() {
    local kind=$1 unpacked=$2/openblas-$1 installed
    installed=/usr/lib/$(uname -m)-linux-gnu/openblas-$kind
    if [ -e "$installed/libopenblas.so.0" ]; then
        printf '%s\n' "$installed"
        return
    fi
    if [ ! -d "$unpacked" ]; then
        mkdir -p "$unpacked.part"
        (
            cd "$unpacked.part"
            apt-get download "libopenblas0-$kind" >apt.log 2>&1 || { cat apt.log >&2; exit 1; }
            dpkg-deb -x libopenblas0-"$kind"_*.deb .
        ) || return 1
        mv "$unpacked.part" "$unpacked"
    fi
    find "$(cd "$unpacked" && pwd)" -name libopenblas.so.0 -printf '%h\n' | grep .
}

# One line on what the library finds under the current environment.
library_says() {
    python3 - "$1/src/libadze.so" <<'PYTHON'
import ctypes
import sys

adze = ctypes.CDLL(sys.argv[1])
adze.adz_build_info.restype = ctypes.c_char_p
assert adze.adz_set_gemm_backend(1) == 0  # loads OpenBLAS
core = ctypes.CDLL("libopenblas.so.0").openblas_get_corename
core.restype = ctypes.c_char_p
print(f"{adze.adz_build_info().decode()}; OpenBLAS runs {core().decode()}'s kernels")
PYTHON
}

# play BUILD PROCESSOR OPENBLAS TESTS...: runs the tests with that processor ("own" for this one) and with that
# kind of OpenBLAS. Their log is testlog-processors-*.json.
play() {
    local build=$1 processor=$2 kind=$3 flags cpu core folder said word=$3
    shift 3
    printf '\n-- %s, OpenBLAS %s: ' "$processor" "$kind"
    [ "$kind" != pthread ] || word=pthreads
    folder=$(openblas_folder "$kind" "$build") || return 1
    (
        export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        if [ "$processor" != own ]; then
            IFS=';' read -r _ flags cpu core <<<"$(grep "^$processor;" <<<"$processors")"
            # shellcheck disable=SC2086
            if ! has_flags $flags; then
                echo "skipped, this processor lacks one of: $flags"
                exit 0
            fi
            export ADZE_CPU=$cpu OPENBLAS_CORETYPE=$core
        fi
        said=$(library_says "$build") || exit 1
        printf '%s\n' "$said"
        case $said in
        *"($word);"*"OpenBLAS runs ${core:-}"*) ;;
        *) echo 'this is not what was asked for' && exit 1 ;;
        esac
        set -o pipefail
        meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 4 \
            --logbase "testlog-processors-$processor-$kind" "$@" |
            sed -E '/^ *[0-9]+\/[0-9]+ .* (OK|SKIP) /d'
    )
}
