#!/usr/bin/env python3
"""What all example programs have in common: --help and --version, lines of 80 characters, exit codes, Ctrl-C.

usage: about.py PROGRAM...
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from clean_checkout import SHORT  # noqa: E402
from program import WRAPPER  # noqa: E402

WIDTH = 80
PROGRAMS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[1:]}

# A program of each kind, with options under which it runs long, a line after which Ctrl-C comes (without one it comes
# as soon as the program listens), and the file that is there afterwards.
KINDS = {
    "feed_forward": ([], None, None),                                                     # one file, saves nothing
    "ffn-regression": (["--epochs", 10000000, "--plot", "none"], "^epoch", "model.safetensors"),
    "text-classifier": ([*SHORT["text-classifier"], "--epochs", 100000], "^epoch", "classifier.safetensors"),
    "digits": (["--epochs", 100000, "--examples", 300, "--channels", 4, "--plot", "none"], "^epoch",
               "digits.safetensors"),
    "char-lm": (["--steps", 1000000, "--layers", 1, "--context", 20], "^step", "char-lm.safetensors"),
    "glu-variants": (["--steps", 1000000, "--evaluations", 10000, "--plot", "none"], "^ReLU +step",
                     "glu-variants.safetensors"),
    "uci-regression": (["--epochs", 100000000, "--passes", 2, "--plot", "none"], "^toy set", None),
    "forecast": (["--members", 1000, "--plot", "none"], "values; ", None),                # saves at the end only
}


def run(program, *arguments):
    return subprocess.run([*WRAPPER, PROGRAMS[program], *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8")


def check_width(program, text):
    """The last line of many programs, "result: ...", is for scripts, and no line breaks it."""
    for line in text.splitlines():
        assert len(line) <= WIDTH or line.startswith("result: "), f"{program}: {len(line)} characters: {line}"


def questions():
    for program in PROGRAMS:
        helped, version = run(program, "--help"), run(program, "--version")
        assert helped.returncode == 0 and not helped.stderr, (program, helped)
        assert re.search(rf"^usage: .*\b{program}\b", helped.stdout, re.MULTILINE), (program, helped.stdout)
        for part in ("--version", "Exit codes: 0", "130"):
            assert part in helped.stdout, (program, part)
        check_width(program, helped.stdout)
        assert version.returncode == 0 and not version.stderr, (program, version)
        assert re.fullmatch(rf"{program}, an? (example )?program of adze \d+\.\d+\.\d+\S*\n", version.stdout), version
        assert run(program, "-h").stdout == helped.stdout, program
        with open("/dev/full", "w", encoding="ascii") as full:
            for question in "--help", "--version":
                lost = subprocess.run([*WRAPPER, PROGRAMS[program], question], stdout=full, stderr=subprocess.DEVNULL)
                assert lost.returncode == 1, (program, question, lost)


def lost_output():
    """What cannot be printed, or drawn, is a failure."""
    for program in ("feed_forward", "fit_curve", "heat", "kepler", "stream", "toy_regression"):
        with open("/dev/full", "w", encoding="ascii") as full:
            lost = subprocess.run([*WRAPPER, PROGRAMS[program]], stdout=full, stderr=subprocess.PIPE, text=True)
        assert lost.returncode == 1 and "standard output" in lost.stderr, (program, lost)
    lost = run("heat", "/dev/full/heat.svg")
    assert lost.returncode == 1 and "/dev/full/heat.svg" in lost.stderr, lost


def wrong_options():
    for program in PROGRAMS:
        done = run(program, "--frobnicate")
        assert done.returncode == 2 and not done.stdout, (program, done)
        assert f"{program} --help lists the options\n" in done.stderr and "--frobnicate" in done.stderr, done


def narrow_output():
    for program, arguments in SHORT.items():
        done = run(program, *arguments)
        assert done.returncode == 0, (program, done)
        check_width(program, done.stdout)
    check_width("glu-variants", run("glu-variants", *SHORT["glu-variants"], "--runs", 2).stdout)
    for program in ("fit_curve", "kepler", "heat", "stream", "toy_regression"):
        check_width(program, run(program).stdout)


def handles(pid, number):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as stream:
            caught = re.search(r"SigCgt:\s*([0-9a-f]+)", stream.read())
    except OSError:
        return False  # no Linux: the full wait
    return bool(int(caught.group(1), 16) >> (number - 1) & 1)


def interrupted(program, number):
    arguments, pattern, _ = KINDS[program]
    process = subprocess.Popen([*WRAPPER, PROGRAMS[program], *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    if pattern is None:
        while not handles(process.pid, number) and process.poll() is None:
            time.sleep(0.001)
    for line in process.stdout if pattern is not None else ():
        if re.search(pattern, line):
            break
    process.send_signal(number)
    output = process.stdout.read()
    return process.wait(), output


def signals():
    for program, (_, _, saved) in KINDS.items():
        for number in signal.SIGINT, signal.SIGTERM:
            code, output = interrupted(program, number)
            assert code == 128 + number, f"{program}: exit {code}\n{output}"
            assert saved is None or os.path.getsize(saved) > 0, (program, output)
            if saved is not None:
                os.remove(saved)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in questions, lost_output, wrong_options, narrow_output, signals:
            check()
            print(f"{check.__name__}: ok", flush=True)
        os.chdir("/")
