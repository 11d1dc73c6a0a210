#!/usr/bin/env python3
"""tools/setup.sh on systems that are not this one: without root, with another BLAS, without a
terminal. Its programs are stubs that write down how they were called.

usage: set_up.py TOP MESON...     the command that runs Meson
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(sys.argv[1]).resolve()
TOOLS = ["sh", "awk", "cat", "env", "grep", "mkdir", "mktemp", "rm", "rmdir", "sed", "sort", "tail", "tr"]
EXTRAS = ["zlib1g-dev"]
NEEDED = ["gcc", "libc6-dev", "meson", "ninja-build", "pkg-config", "libopenblas-openmp-dev",
          "libjansson-dev", "libcmocka-dev", *EXTRAS]
LINE = "apt-get update && apt-get install -y --no-install-recommends "
APT = """#!/bin/sh
case "$*" in
*--print-uris*)
    echo 'Need to get 0 B/105 MB of archives.'
    echo 'After this operation, 400 MB of additional disk space will be used.'
    exit ;;
esac
echo "$*" >>calls
"""
SIZE = "This downloads 0 B/105 MB and takes 400 MB of disk space."
WORKING = {name: "#!/bin/sh\nexit 0\n" for name in ("cc", "meson", "ninja", "pkg_config")}


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
    system = System(1000, apt_get=APT)
    code, said = system.run("install_missing")
    assert code == 1 and system.calls() == [], said
    lines = [line for line in said.splitlines() if "apt-get" in line]
    assert lines == [LINE + " ".join(NEEDED)], said
    assert "sudo" not in said and SIZE in said.splitlines(), said
    assert "Going on" not in said and said.count("try again") == 1, said


def the_compiler_that_cc_names():
    """The package of the compiler that CC asks for is installed, and a compiler without a package is named."""
    for compiler, package in ("clang", "clang"), ("ccache gcc-13", "gcc-13"), ("/usr/bin/cc", "gcc"):
        system = System(0, apt_get=APT)
        system.run(f"CC='{compiler}'; install_missing")
        asked = system.calls()[-1].split()
        assert package in asked and ("gcc" in asked) == (package == "gcc"), asked
    system = System(0, apt_get=APT)
    code, said = system.run("CC=tcc; install_missing")
    assert code == 1 and system.calls() == [] and "CC=tcc compiles nothing here" in said, said


def extras_without_root():
    """Without root, packages that adze can do without are named once, before build/ is set up, and that is no
    failure. They are not asked for again."""
    for sudo in {}, {"sudo": "#!/bin/sh\nexit 1\n"}:
        system = System(1000, apt_get=APT, **WORKING, **sudo)
        (system.folder / "bin/cc").write_text("#!/bin/sh\n! grep -q zlib.h\n")
        code, said = system.run("install_missing")
        assert code == 0 and system.calls() == [], said
        assert LINE + " ".join(EXTRAS) in said.splitlines() and "Going on without" in said, said
        assert "try again" not in said, said
        (system.folder / "build").mkdir()
        (system.folder / "build/build.ninja").touch()
        assert system.run("install_missing") == (0, "")


def no_cmocka_for_examples():
    """The example programs are built without cmocka."""
    system = System(0, apt_get=APT)
    code, said = system.run("with_tests=false; install_missing")
    assert code == 0, said
    assert system.calls()[-1].split()[3:] == [name for name in NEEDED if name != "libcmocka-dev"], system.calls()


def size_comes_first():
    """How much apt will download and unpack is said before it does."""
    system = System(0, apt_get=APT)
    code, said = system.run("install_missing")
    assert code == 0, said
    lines = said.splitlines()
    assert SIZE in lines, said
    assert lines.index(SIZE) < next(i for i, line in enumerate(lines) if line.startswith("apt-get install")), said


def sudo_that_refuses():
    """Where sudo is there and does not work, the line follows."""
    system = System(1000, apt_get=APT, sudo="#!/bin/sh\necho 'you are not in the sudoers file' >&2\nexit 1\n")
    code, said = system.run("install_missing")
    assert code == 1 and system.calls() == [], said
    assert "not in the sudoers file" in said, said
    assert LINE + " ".join(NEEDED) in said.splitlines(), said


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
echo '[{{"name": "threads", "value": "native"}}, {{"name": "kernels", "value": "{}", "choices": ["all", "native"]}},'
echo '{{"name": "tests", "value": {}, "section": "user"}}, {{"name": "bench", "value": false}}]'
"""


def kernels_and_tests():
    """A build of the examples gets the tests, and for all tests the kernels for all processors; others stay as they are."""
    for kernels, tests, wanted, changes in (("native", "false", "", "-Dtests=true"), ("native", "true", "", ""),
                                            ("native", "false", "all", "-Dtests=true -Dkernels=all"),
                                            ("native", "true", "all", "-Dkernels=all"), ("all", "false", "all", "-Dtests=true"),
                                            ("all", "true", "all", "")):
        system = System(0, meson=OPTIONS.format(kernels, tests))
        code, said = system.run(f"complete_build {wanted}")
        assert code == 0, said
        calls = ["introspect build --buildoptions"] + ([f"configure build {changes}"] if changes else [])
        assert system.calls() == calls, system.calls()
        assert all(change in said for change in changes.split()), said
        assert ("Adding" in said) == bool(changes), said


LISTED = """#!/bin/sh
for word; do last=$word; done
case $last in
--list)
    printf '%s\n' 'adze:ops / op-softmax' 'adze:ops / op-softplus' 'adze:nn / nn-lstm' 'adze:io / a name' \\
        'nn+long - adze:nn-gru'
    ;;
op-softmax | 'a name' | ops) echo "adze:ops / $last" ;;
*) exit 1 ;;
esac
"""


def misspelt_tests():
    """A name that no test has is refused before anything is built, and close names are shown."""
    system = System(0, meson=LISTED)
    for good in ("", "op-softmax", "'a name'", "op-softmax 'a name'", "-v --suite ops", "--setup german op-softmax",
                 "-j 2 op-softmax"):
        assert system.run(f"tests_exist {good}") == (0, ""), good
    for wrong, close in (("op-sofmax", "op-softmax"), ("softmax", "op-softmax"), ("lstm", "nn-lstm"),
                         ("nn-grux", "nn-gru")):
        code, said = system.run(f"tests_exist op-softmax {wrong}")
        assert code == 1 and f"There is no test {wrong}." in said and f"\n  {close}\n" in said, said
    code, said = system.run("tests_exist nosuchtest")
    assert code == 1 and len(re.findall(r"^  \S", said, re.M)) == 5, said
    code, said = system.run("tests_exist --suite opps")
    assert code == 1 and "No test fits: --suite opps." in said, said


def read_only_tree():
    """Where nothing can be written, it says so and what to do, before Meson or apt are called."""
    stub = "#!/bin/sh\necho 'Read-only file system' >&2\nexit 1\n"
    for program in "mkdir", "mktemp":
        system = System(1000, apt_get=APT)
        path = system.folder / "bin" / program
        path.unlink()
        path.write_text(stub)
        path.chmod(0o755)
        code, said = system.run("set_up")
        assert code == 1 and system.calls() == [], said
        assert "Nothing can be written to" in said and "Copy the tree" in said, said


def no_such_program():
    """examples/run.sh refuses a program that there is not, and says which there are."""
    system = System(0)
    done = subprocess.run(["sh", TOP / "examples/run.sh", "one"], text=True, cwd=system.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2 and done.stdout == "", done
    assert "no program one" in done.stderr and "forecast" in done.stderr, done.stderr


PRINTS_ITS_FOLDER = """#!/bin/sh
[ "$1" = setup ] || exit 0
mkdir -p build/examples
printf '#!/bin/sh\\npwd\\n' >build/examples/forecast
chmod +x build/examples/forecast
"""


def program_where_one_stands():
    """examples/run.sh builds at the top of the tree, and runs the program in the folder from which it is called."""
    system = System(0, **{**WORKING, "meson": PRINTS_ITS_FOLDER})
    for tool in "chmod", "dirname":
        (system.folder / "bin" / tool).symlink_to(shutil.which(tool))
    for name in "tools/setup.sh", "examples/run.sh":
        (system.folder / name).parent.mkdir()
        shutil.copy(TOP / name, system.folder / name)
    folder = system.folder / "a folder"
    folder.mkdir()
    done = subprocess.run([f"{system.path}/sh", "../examples/run.sh", "forecast"], text=True, cwd=folder,
                          env={"PATH": system.path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0 and done.stdout == f"{folder.resolve()}\n", done


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


PROJECT = """project('tried', 'c', meson_version: '>=1.0.0')
message('Open MPI', dependency('ompi-c', required: false).version())
configure_file(output: 'place.h', configuration: {'PLACE': meson.project_source_root() + '/' + get_option('kind')})
library('tried', 'tried.c')
if get_option('tests')
  test('one', executable('one', 'one.c'))
endif
"""


def set_up_again():
    """With the real Meson: a tree that was moved or copied is set up for its new folder with its own options, and
    what is compiled stays. A package that is installed later is found. Otherwise nothing is done twice."""
    old, new = pathlib.Path("old tree").resolve(), pathlib.Path("new").resolve()
    names = pathlib.Path("names").resolve()
    names.mkdir()
    old.mkdir()
    (old / "meson.build").write_text(PROJECT)
    (old / "meson_options.txt").write_text(
        "option('kind', type: 'string', value: 'none')\noption('tests', type: 'boolean', value: false)\n")
    (old / "tried.c").write_text("int tried;\n")
    (old / "one.c").write_text("int main(void) { return 0; }\n")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(names), "LC_ALL": "C"}

    def run(folder, then=":"):
        script = f". '{TOP}/tools/setup.sh'; install_missing() {{ :; }}; set_up '-Dkind=a b' && {then}"
        done = subprocess.run(["sh", "-euc", script], cwd=folder, env=environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        return (done.stderr.splitlines() or ["nothing"])[0], (folder / "build/meson-logs/meson-log.txt").read_text()

    assert run(old, "compile")[0].startswith("Setting up")
    assert run(old)[0] == "nothing"
    for folder, rename in ((new, old.rename), (old, lambda to: shutil.copytree(new, to))):
        rename(folder)
        built = [(folder / "build/libtried.so").stat().st_mtime_ns]
        assert run(folder, "compile")[0].startswith("The tree was moved"), folder
        assert f"{folder}/a b" in (folder / "build/place.h").read_text()
        assert run(folder)[0] == "nothing"
        assert [(folder / "build/libtried.so").stat().st_mtime_ns] == built, "it was compiled again"
    record = old / "build/set_up_with"
    record.write_text(re.sub("Meson .*", "Meson 0.9", record.read_text()))
    assert "Meson is another one" in run(old)[0]
    (old / "build/set_up_with").unlink()  # as a build that was set up by hand
    assert "Looking again" in run(old)[0]
    for version in 77, 78:
        (names / "ompi-c.pc").write_text(f"Name: ompi-c\nDescription: MPI\nVersion: {version}\nLibs: -lm\n")
        said, log = run(old)
        assert "Looking again" in said and f"Message: Open MPI {version}\n" in log, (said, log)
        assert run(old)[0] == "nothing"
    assert run(old, "complete_build && tests_exist one")[0].startswith("Adding to build/:")


def main():
    checks = [one_line_for_root, the_compiler_that_cc_names, extras_without_root, no_cmocka_for_examples, size_comes_first, sudo_that_refuses,
              another_blas, progress, kernels_and_tests, misspelt_tests, read_only_tree,
              no_such_program, program_where_one_stands]
    if len(sys.argv) > 2:
        checks += [configure_without_openblas, set_up_again]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in checks:
            check()
            print(f"{check.__name__}: ok")
        os.chdir("/")


if __name__ == "__main__":
    main()
