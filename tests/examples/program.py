"""What the tests of example programs share. A test's first argument is the program."""

import os
import re
import subprocess
import signal
import sys
import tempfile
import xml.etree.ElementTree

PROGRAM = os.path.abspath(sys.argv[1])
NAME = os.path.basename(PROGRAM)
# With ADZE_TEST_LEARNING=off the programs run, but how well their networks learn is not asked: a sanitizer makes
# every step ten times as long.
LEARNING = os.environ.get("ADZE_TEST_LEARNING") != "off"
WRAPPER = os.environ.get("ADZE_WRAPPER", "").split()  # what runs the program, valgrind for one


def joined(text):
    """The text with lines of its own for what the program had to break at 80 characters."""
    return re.sub(r"\n  (?=[^ (|])", " ", text)


def run(*arguments, code=0, env=None, program=PROGRAM):
    """What the program prints, which must end with that exit code."""
    done = subprocess.run([*WRAPPER, program, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="backslashreplace",
                          env={**os.environ, **(env or {})})
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}"
    return joined(done.stdout)


def run_any(*arguments):
    """What the program prints, and its exit code."""
    done = subprocess.run([*WRAPPER, PROGRAM, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8")
    return done.stdout, done.returncode


def refused(message, *arguments):
    """The program ends with a message, under its name, that says so. The exit code is 2 with a hint
    at --help where the command line is wrong, whatever the files hold, and else 1 without one."""
    output, code = run_any(*arguments)
    wrong_line = f"\n{NAME} --help lists the options\n" in output
    assert code == (2 if wrong_line else 1), f"{arguments}: exit {code}\n{output}"
    assert message in output, f"{arguments}: {output!r} does not say {message!r}"
    assert f"\n{NAME}: " in "\n" + output, output
    return output


def misused(message, *arguments):
    """refused() with exit code 2."""
    output = refused(message, *arguments)
    assert f"\n{NAME} --help lists the options\n" in output, f"{arguments}: exit 1\n{output}"
    return output


def drawn(path):
    """The texts of a picture, which must be well-formed."""
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
    return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def same_without_capture(files, *arguments):
    """Captured steps come to the bits of ordinary ones, in what the program prints and in its files."""
    found = []
    for how in ([], ["--no-capture"]):
        output = re.sub(r"\S*(seconds|per_second)=\S+|\d+ tokens/s", "", run(*arguments, *how))
        contents = []
        for name in files:
            with open(name, "rb") as stream:
                contents.append(stream.read())
            os.remove(name)
        found.append((output, contents))
    assert found[0] == found[1], f"{arguments}: captured steps have other bits\n{found[0][0]}\n{found[1][0]}"


def optional_path(position):
    """The argument at a position as a path, "" without one."""
    return os.path.abspath(sys.argv[position]) if len(sys.argv) > position else ""


def interrupted(*arguments, number=signal.SIGINT, after=r"^(epoch|step) \d"):
    """What the program prints, on stderr too, that gets Ctrl-C or another signal when it has printed such a line. It
    ends with the exit code of the signal, after it has saved."""
    process = subprocess.Popen([*WRAPPER, PROGRAM, *map(str, arguments)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = ""
    for line in process.stdout:
        output += line
        if re.search(after, line):
            break
    process.send_signal(number)
    output += process.stdout.read()
    process.wait()
    assert process.returncode == 128 + number, f"{arguments}: exit {process.returncode}\n{output}"
    return joined(output)


def perform(checks):
    """The checks one after the other, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in checks:
            check()
            print(f"{check.__name__}: ok", flush=True)
        os.chdir("/")
    return 0
