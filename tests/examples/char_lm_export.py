#!/usr/bin/env python3
"""char-lm --export-c: the file compiles without a warning, and its header says what goes in and out.

usage: char_lm_export.py PROGRAM COMPILER...
"""

import os
import re
import subprocess
import sys

from program import misused, perform, run

COMPILER = sys.argv[2:]


def check(*options):
    run("--steps", 2, "--context", 12, "--layers", 2, "--save", "lm.st", *options)
    printed = run("--load", "lm.st", "--export-c", "lm.c")
    assert "step" not in printed, printed
    subprocess.run([*COMPILER, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-c", "lm.c"],
                   check=True)
    with open("lm.h", encoding="utf-8") as file:
        header = file.read()
    assert "void lm_run(const int32_t *x, float *y);" in header, header
    assert "x: numbers of tokens [1, 12]" in header, header
    assert re.search(r"y: the result \[\d+\]", header), header


def of_a_recurrent_network():
    check("--arch", "awd-lstm", "--d-model", 24, "--hidden", 20)


def of_transformers():
    for arch in ("gpt2", "transformer", "transformer-xl"):
        check("--arch", arch, "--d-model", 24, "--hidden", 20, "--heads", 2)


def after_a_training():
    run("--steps", 2, "--context", 12, "--layers", 1, "--arch", "awd-lstm", "--d-model", 24, "--hidden", 20,
        "--save", "new.st", "--export-c", "new.c")
    assert os.path.exists("new.st") and os.path.exists("new.c") and os.path.exists("new.h")


def is_refused_early():
    misused("--export-c lm.txt: the name of a C file ends with .c", "--export-c", "lm.txt")


if not COMPILER or subprocess.run([*COMPILER, "--version"], stdout=subprocess.DEVNULL,
                                  check=False).returncode != 0:
    sys.exit(77)
sys.exit(perform([of_a_recurrent_network, of_transformers, after_a_training, is_refused_early]))
