#!/usr/bin/env python3
"""tools/setup.sh on systems that are not this one: without root, with another oneDNN, with another BLAS,
without a terminal. Its programs are stubs that write down how they were called.

usage: set_up.py TOP MESON...     the command that runs Meson
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(sys.argv[1]).resolve()
TOOLS = ["sh", "cat", "env", "grep", "mktemp", "rm", "tail", "tr"]
NEEDED = ["gcc", "libc6-dev", "meson", "ninja-build", "pkg-config", "libopenblas-openmp-dev",
          "libcmocka-dev", "libjansson-dev", "gnuplot-nox", "zlib1g-dev"]
LINE = "apt-get update && apt-get install -y --no-install-recommends "
POLICY = "#!/bin/sh\n[ ! -f lists ] || echo '  Candidate: {}'\n"  # knows nothing before an update
APT = "#!/bin/sh\necho \"$*\" >>calls\n[ \"$1\" = install ] || : >lists\n"


class System:
    """A folder with stubs, which is all of PATH."""

    def __init__(self, user, **stubs):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir="."))
        programs = self.folder / "bin"
        programs.mkdir()
        for tool in TOOLS:
            (programs / tool).symlink_to(shutil.which(tool))
        stubs = {"id": f"#!/bin/sh\necho {user}\n", **stubs}  # an underscore stands for a hyphen
        for name, text in stubs.items():
            path = programs / name.replace("_", "-")
            path.write_text(text)
            path.chmod(0o755)
        self.path = str(programs.resolve())

    def run(self, command):
        """Exit code and stderr of a command of tools/setup.sh."""
        done = subprocess.run([f"{self.path}/sh", "-euc", f". '{TOP}/tools/setup.sh'; {command}"],
                              cwd=self.folder, env={"PATH": self.path, "LC_ALL": "C"}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.stdout == "", done.stdout
        return done.returncode, done.stderr

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []


def one_line_for_root():
    """Without root and sudo: one line, complete, that root can run as it is; nothing else is tried."""
    system = System(1000, apt_get=APT, apt_cache=POLICY.format("2.6.3-1"))
    (system.folder / "lists").touch()
    code, said = system.run("install_missing")
    assert code == 1 and system.calls() == [], said
    lines = [line for line in said.splitlines() if "apt-get" in line]
    assert lines == [LINE + " ".join(NEEDED + ["libdnnl-dev"])], said
    assert "sudo" not in said, said


def sudo_that_refuses():
    """Where sudo is there and does not work, the line follows."""
    system = System(1000, apt_get=APT, apt_cache=POLICY.format("2.6.3-1"),
                    sudo="#!/bin/sh\necho 'you are not in the sudoers file' >&2\nexit 1\n")
    (system.folder / "lists").touch()
    code, said = system.run("install_missing")
    assert code == 1 and system.calls() == [], said
    assert "not in the sudoers file" in said, said
    assert LINE + " ".join(NEEDED + ["libdnnl-dev"]) in said.splitlines(), said


def onednn_2_alone():
    """oneDNN is installed where apt has its version 2, which is known once apt has its lists."""
    for version, wanted in (("2.6.3-1", True), ("1:2.7", True), ("3.6.2-1", False), ("(none)", False),
                            ("12.1", False)):
        system = System(0, apt_get=APT, apt_cache=POLICY.format(version))
        code, said = system.run("install_missing")
        assert code == 0, said
        packages = NEEDED + ["libdnnl-dev"] * wanted
        assert system.calls() == ["update", "install -y --no-install-recommends " + " ".join(packages)], (
            version, system.calls())
        for call in system.calls():
            assert f"apt-get {call}" in said.splitlines(), said


def another_blas():
    """With another BLAS and without apt, it says that this one does not do, and what to install."""
    system = System(1000, pkg_config="#!/bin/sh\n[ \"$2\" = blas ]\n")
    code, said = system.run("install_missing")
    assert code == 1, said
    for words in ("The BLAS that is here, blas, does not do", "libopenblas-openmp-dev",
                  "dnf install", "openblas-devel"):
        assert words in said, said


BUILD = """#!/bin/sh
echo "$*" >>calls
echo 'ninja: Entering directory'
n=0
while [ $n -lt {steps} ]; do
    n=$((n + 1))
    echo "[$n/{steps}] Compiling [3/4] of a \\\\ file"
done
echo 'an error of the compiler'
exit {code}
"""


def progress():
    """Without a terminal, a build says its tenths; what it printed is shown when it fails."""
    for steps in 1, 7, 40, 865:
        system = System(0, meson=BUILD.format(steps=steps, code=0))
        code, said = system.run("compile one two")
        assert code == 0 and system.calls() == ["compile -C build one two"], said
        tenths = sorted({10 * (10 * (n + 1) // steps) for n in range(steps)} - {0})
        assert said.splitlines() == ["Building ..."] + [f"  {tenth}%" for tenth in tenths], said
    system = System(0, meson=BUILD.format(steps=40, code=1))
    code, said = system.run("compile; echo never >&2")
    assert code != 0 and "never" not in said, said
    assert said.count("[7/40] Compiling [3/4] of a \\ file\n") == 1, said
    assert said.endswith("an error of the compiler\nfailed: meson compile -C build\n"), said


OPTIONS = """#!/bin/sh
echo "$*" >>calls
[ "$1" = introspect ] || exit 0
echo '[{{"name": "threads", "value": "native"}}, {{"name": "kernels", "value": "{}", "choices": ["all", "native"]}}]'
"""


def kernels_for_all():
    """A build for one processor is changed to one for all of them; another build stays as it is."""
    for kernels, changes in ("native", ["configure build -Dkernels=all"]), ("all", []):
        system = System(0, meson=OPTIONS.format(kernels))
        code, said = system.run("build_all_kernels")
        assert code == 0, said
        assert system.calls() == ["introspect build --buildoptions"] + changes, system.calls()
        assert ("Adding the kernels" in said) == bool(changes), said


def no_such_program():
    """examples/run.sh refuses a program that there is not, and says which there are."""
    system = System(0)
    done = subprocess.run(["sh", TOP / "examples/run.sh", "one"], text=True, cwd=system.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2 and done.stdout == "", done
    assert "no program one" in done.stderr and "forecast" in done.stderr, done.stderr


def configure_without_openblas():
    """Meson's error says what to install too."""
    library = pathlib.Path("pkg-config").resolve()
    library.mkdir()
    (library / "blas.pc").write_text("Name: blas\nDescription: a BLAS\nVersion: 3.11\nLibs: -lm\n")
    cmake = System(0, cmake="#!/bin/sh\nexit 1\n").path  # it could know an OpenBLAS of its own
    done = subprocess.run([*sys.argv[2:], "setup", "nothing", TOP], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "PKG_CONFIG_LIBDIR": str(library),
                                                         "PATH": f"{cmake}:{os.environ['PATH']}"})
    assert done.returncode != 0, done.stdout
    for words in ("OpenBLAS is needed", "The BLAS that is here, blas, does not do",
                  "libopenblas-openmp-dev", "openblas-devel"):
        assert words in done.stdout, done.stdout


def main():
    checks = [one_line_for_root, sudo_that_refuses, onednn_2_alone, another_blas, progress,
              kernels_for_all, no_such_program]
    if len(sys.argv) > 2:
        checks.append(configure_without_openblas)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in checks:
            check()
            print(f"{check.__name__}: ok")
        os.chdir("/")


if __name__ == "__main__":
    main()
