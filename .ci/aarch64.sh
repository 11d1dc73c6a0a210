# The tests on aarch64 under an emulator: a processor that is not x86, with vectors and fused multiply-adds in its
# baseline. Sourced by .ci/run and .ci/full with the top of the tree as the current directory.

# Debian's libraries for arm64 in addition to those for amd64, of which apt must take nothing away.
install_aarch64() {
    local packages missing
    packages='gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
        libopenblas-pthread-dev:arm64 libjansson-dev:arm64 libcmocka-dev:arm64 libgomp1:arm64'
    # shellcheck disable=SC2086
    missing=$(not_installed $packages)
    [ -n "$missing" ] || return 0
    dpkg --print-foreign-architectures | grep -qx arm64 || dpkg --add-architecture arm64
    apt-get update >/dev/null
    # shellcheck disable=SC2086
    if apt-get install -s --no-install-recommends $missing | grep '^Remv'; then
        echo 'These packages would have to go for the ones of arm64.'
        return 1
    fi
    # shellcheck disable=SC2086
    apt_install $missing
}

# A fresh build folder for aarch64, without the benchmarks: configure_aarch64 FOLDER [OPTION...]
configure_aarch64() {
    local folder=$1
    shift
    install_aarch64
    rm -rf "$folder"
    meson setup "$folder" --cross-file .ci/aarch64.cross -Dwerror=true -Dbuildtype=plain -Doptimization=2 \
        -Dbench=false "$@" >/dev/null
}

# Runs the named tests, and parts of two that take minutes under an emulator as a whole. Meson compiles the programs of
# these tests and no others: test_on_aarch64 FOLDER TEST...
test_on_aarch64() {
    local folder=$1 case
    shift
    export ADZE_WRAPPER=qemu-aarch64
    ninja -C "$folder" tests/test_vmath tests/test_gemm >"$folder/compiled" || {
        tail -n 40 "$folder/compiled"
        return 1
    }
    meson test -C "$folder" --print-errorlogs --timeout-multiplier 4 "$@"
    qemu-aarch64 "$folder/tests/test_vmath" 50000
    for case in factors_bias_and_padding either_way_is_right large_products_in_blocks \
        integers_wrap_around a_forked_child_multiplies; do
        qemu-aarch64 "$folder/tests/test_gemm" '' "$case" >"$folder/gemm.log" 2>&1 &&
            grep -q '^.*PASSED.* 1 test(s)' "$folder/gemm.log" || {
            cat "$folder/gemm.log"
            return 1
        }
    done
}
