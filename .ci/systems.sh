# The README's commands on other releases of Debian, each in a root that debootstrap makes.
# Sourced by .ci/full with the top of the tree as the current directory.

# Debian's mirror that this machine uses.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' 'Origin: Debian' |
        sed -n 's/ Debian$//p' | sed 1q
}

# A bare system of a release in a folder, or the one that is there already, up to date.
make_root() {
    local release=$1 root=$2
    if [ ! -f "$root/complete" ]; then
        rm -rf "$root"
        mkdir -p "$root"
        debootstrap --variant=minbase "$release" "$root" "$(debian_mirror)" >"$root.log" 2>&1 || {
            tail "$root.log"
            return 1
        }
        touch "$root/complete"
    fi
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # A mirror may hold a snapshot of a release that changes daily, whose lists have expired.
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/snapshot"
}

# Runs a script in a root. It has mounts of its own, which end with it, and nothing of this environment.
in_root() {
    # shellcheck disable=SC2016
    unshare --mount --propagation private sh -euc '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -euc "cd /adze; $2"' sh "$1" "$2"
}

# The first build installs what a bare system lacks. Open MPI comes later and must be noticed. The package's test
# compiles with this release's gcc and clang, and over its openblas.pc.
play_system() {
    local release=$1 root=build-systems/$1
    make_root "$release" "$root"
    mkdir -p "$root/adze"
    git ls-files -z | tar --null --files-from - --create --file - | tar --extract --directory "$root/adze" --file -
    in_root "$root" 'sh examples/run.sh --epochs 2 --plot none && sh tests/run.sh'
    in_root "$root" 'apt-get install -y --no-install-recommends openmpi-bin libopenmpi-dev clang cmake g++ >build/apt.log ||
        { tail build/apt.log; exit 1; }
        sh tests/run.sh --suite mpi --suite distributed
        sh tests/package/run.sh build build/package'
}
