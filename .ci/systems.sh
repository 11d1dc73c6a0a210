# The README's commands on other releases of Debian, each in a root that debootstrap makes.
# Sourced by .ci/full with the top of the tree as the current directory.

# Debian's mirror that this machine uses.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' 'Origin: Debian' |
        sed -n 's/ Debian$//p' | sed 1q
}

# A bare system of a release in a folder, of which a copy is kept next to it for the next time.
make_root() {
    local release=$1 root=$2 mirror
    mirror=$(debian_mirror)
    if [ ! -f "$root.bare/complete" ]; then
        rm -rf "$root.bare"
        mkdir -p "$root.bare"
        # Its mounts are in a namespace that ends with it, so that a run that is stopped leaves none behind.
        unshare --mount --propagation private \
            debootstrap --variant=minbase "$release" "$root.bare" "$mirror" >"$root.log" 2>&1 || {
            tail "$root.log"
            echo "Debian $release was not tried: debootstrap could not make it from ${mirror:-no mirror} (see above)."
            return 1
        }
        touch "$root.bare/complete"
    fi
    rm -rf "$root"
    cp -a "$root.bare" "$root"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # A mirror may hold a snapshot of a release that changes daily, whose lists have expired.
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/snapshot"
}

# Runs a script in a root. It has mounts of its own, which end with it, and nothing of this environment.
in_root() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -euc '
        mount -t proc proc "$1/proc"
        mount --rbind /sys "$1/sys" # MPI looks there for processors
        mount --rbind /dev "$1/dev"
        exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -euc "cd /adze; $2"' sh "$1" "$2"
}

# The first build installs what a bare system lacks, apt's lists of packages too. Open MPI comes later and must be
# noticed. The package's test compiles with this release's gcc and clang, and over its openblas.pc. The time that a
# test may take is longer, because this machine may do something else too.
play_system() {
    local release=$1 root=build-systems/$1
    make_root "$release" "$root"
    mkdir "$root/adze"
    git ls-files -z | tar --null --files-from - --create --file - | tar --extract --directory "$root/adze" --file -
    in_root "$root" '(apt-get update && apt-get -y dist-upgrade) >/var/log/upgrade.log 2>&1 || { tail /var/log/upgrade.log; exit 1; }
        rm -rf /var/lib/apt/lists/*'
    in_root "$root" 'sh examples/run.sh --epochs 2 --plot none && sh tests/run.sh --timeout-multiplier 6 &&
        sh tests/run.sh --all --timeout-multiplier 6'
    in_root "$root" 'apt-get install -y --no-install-recommends openmpi-bin libopenmpi-dev clang cmake g++ >build/apt.log ||
        { tail build/apt.log; exit 1; }
        sh tests/run.sh --timeout-multiplier 6 --suite mpi --suite distributed --suite checks
        sh tests/package/run.sh build build/package'
}

# Plays releases one after the other. The last lines say which of them failed.
play_systems() {
    local release failed=''
    for release in "$@"; do
        printf -- '\n-- Debian %s\n' "$release"
        set +e
        (
            set -e
            play_system "$release"
        )
        [ $? -eq 0 ] || failed+=" $release"
        set -e
    done
    [ -z "$failed" ] || printf 'failed on Debian:%s\n' "$failed"
    [ -z "$failed" ]
}
