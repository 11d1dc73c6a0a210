# The Debian packages: two builds with the same bytes, lintian, and a bare system in which they come and go.
# Sourced by .ci/full behind .ci/systems.sh, with the top of the tree as the current directory.

# Builds the packages of the tree's tracked files in FOLDER/adze; they lie in FOLDER then. debian_build FOLDER
debian_build() {
    local folder=$1
    rm -rf "$folder"
    mkdir -p "$folder/adze"
    git ls-files -z | tar --null --files-from - --create --file - | tar --extract --directory "$folder/adze" --file -
    (cd "$folder/adze" && dpkg-buildpackage -us -uc) >"$folder/log" 2>&1 || {
        tail -n 40 "$folder/log" | cut -c1-300
        return 1
    }
}

# Says which packages of two folders differ, and where.
debian_compare() {
    local package wrong=0
    [ "$(cd "$1" && ls ./*.deb)" = "$(cd "$2" && ls ./*.deb)" ] || {
        echo 'the two builds have other packages'
        return 1
    }
    for package in "$1"/*.deb; do
        cmp "$package" "$2/${package##*/}" && continue
        wrong=1
        ! command -v diffoscope >/dev/null || diffoscope --max-report-size 20000 "$package" "$2/${package##*/}" || :
    done
    return "$wrong"
}

# An override stands below a comment that says why.
debian_overrides() {
    local file wrong=0
    for file in debian/*lintian-overrides debian/source/lintian-overrides; do
        [ -f "$file" ] || continue
        awk -v file="$file" '/^#/ { said = 1; next } NF && !said { print file ": no reason above " $0; wrong = 1 }
            !NF { said = 0 } END { exit wrong }' "$file" || wrong=1
    done
    return "$wrong"
}

# Installs the packages of a folder in a bare system, runs debian/tests there and removes them. What a purge leaves
# is a failure. debian_in_root FOLDER ROOT
debian_in_root() {
    local folder=$1 root=$2 release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    make_root "$release" "$root"
    mkdir "$root/adze"
    cp "$folder"/*.deb "$root/adze"
    rm -f "$root"/adze/*-dbgsym_*.deb
    cp -R debian/tests "$root/adze"
    cat >"$root/adze/play" <<'SH'
files() {
    find / -xdev \( -path /adze -o -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/cache \
        -o -path /var/log -o -path /var/lib/apt -o -path '/var/lib/dpkg/[!i]*' \) -prune -o -print | sort
}
quiet() {
    "$@" >/var/log/quiet 2>&1 || { tail -n 30 /var/log/quiet; exit 1; }
}
names=$(for package in *.deb; do dpkg-deb --field "$package" Package; done)
quiet apt-get update
quiet apt-get install -y --no-install-recommends gcc libc6-dev libjansson4 libopenblas0-pthread man-db pkg-config python3-numpy
files >before
quiet apt-get install -y --no-install-recommends ./*.deb
dpkg --status $names | grep -c '^Status: install ok installed'
for test in $(sed -n 's/^Tests: //p' tests/control); do
    echo "debian/tests/$test"
    (cd / && sh "/adze/tests/$test")
done
quiet apt-get purge -y $names
files >after
diff before after && echo 'the packages left nothing'
SH
    in_root "$root" '. ./play'
}
