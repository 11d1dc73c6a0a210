"""What the tests of example programs share. A test's first argument is the program."""

import os
import re
import subprocess
import signal
import sys
import tempfile
import time
import xml.etree.ElementTree

PROGRAM = os.path.abspath(sys.argv[1])
NAME = os.path.basename(PROGRAM)
# With ADZE_TEST_LEARNING=off the programs run, but how well their networks learn is not asked: a sanitizer makes
# every step ten times as long.
LEARNING = os.environ.get("ADZE_TEST_LEARNING") != "off"
WRAPPER = os.environ.get("ADZE_WRAPPER", "").split()  # what runs the program, valgrind for one


def run(*arguments, code=0, env=None, program=PROGRAM):
    """What the program prints, which must end with that exit code."""
    done = subprocess.run([*WRAPPER, program, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="backslashreplace",
                          env={**os.environ, **(env or {})})
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}"
    return done.stdout


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


def optional_path(position):
    """The argument at a position as a path, "" without one."""
    return os.path.abspath(sys.argv[position]) if len(sys.argv) > position else ""


def handles(pid, number):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as stream:
            caught = re.search(r"SigCgt:\s*([0-9a-f]+)", stream.read())
    except OSError:
        return False  # no Linux: the full wait
    return bool(int(caught.group(1), 16) >> (number - 1) & 1)


def interrupted(*arguments, number=signal.SIGINT):
    """What the program prints that gets a Ctrl-C, or another signal, while it trains."""
    process = subprocess.Popen([*WRAPPER, PROGRAM, *map(str, arguments)], text=True,
                               stdout=subprocess.PIPE)
    for _ in range(600):  # until it trains, however busy the machine is
        time.sleep(0.1)
        if handles(process.pid, number) or process.poll() is not None:
            break
    time.sleep(20 if WRAPPER else 0.5)  # valgrind catches signals before its program does
    process.send_signal(number)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, output
    return output


def interrupted_after(pattern, *arguments, number=signal.SIGINT, code=0):
    """What the program prints, on stderr too, that gets the signal when it has printed such a line."""
    process = subprocess.Popen([*WRAPPER, PROGRAM, *map(str, arguments)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = ""
    for line in process.stdout:
        output += line
        if re.search(pattern, line):
            break
    process.send_signal(number)
    output += process.stdout.read()
    process.wait()
    assert process.returncode == code, f"{arguments}: exit {process.returncode}\n{output}"
    return output


def perform(checks):
    """The checks one after the other, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in checks:
            check()
            print(f"{check.__name__}: ok", flush=True)
        os.chdir("/")
    return 0
