#!/usr/bin/env python3
"""char-lm --export-c: the file compiles without a warning, its header says what goes in and out, and it
writes the text that the program writes.

usage: char_lm_export.py PROGRAM COMPILER...
"""

import os
import re
import subprocess
import sys

from program import misused, perform, run

COMPILER = sys.argv[2:]

# Writes COUNT tokens, always the likeliest, after a text that fills the context.
WRITER = """
#include <stdio.h>
#include "lm.h"

int main(int argc, char **argv)
{
    static int32_t x[CONTEXT];
    static float y[256];
    (void)argc;
    for (int i = 0; i < CONTEXT; ++i) {
        x[i] = (unsigned char)argv[1][i];
    }
    for (int k = 0; k < COUNT; ++k) {
        int best = 0;
        lm_run(x, y);
        for (int i = 1; i < 256; ++i) {
            best = y[i] > y[best] ? i : best;
        }
        putchar(best);
        for (int i = 0; i + 1 < CONTEXT; ++i) {
            x[i] = x[i + 1];
        }
        x[CONTEXT - 1] = best;
    }
    return 0;
}
"""


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


def writes_the_same_text():
    """The program computes the whole context again for each token, as the function in C does. A recurrent
    network carries its state on instead, so of its text the first token is compared."""
    line = "the quick brown fox jumps over the lazy dog\n"
    text = line[:12]
    with open("text", "w", encoding="utf-8") as file:
        file.write(200 * line)
    with open("writer.c", "w", encoding="utf-8") as file:
        file.write(WRITER)
    for arch, count in (("gpt2", 40), ("transformer", 40), ("awd-lstm", 1)):
        run("--steps", 150, "--context", len(text), "--layers", 1, "--d-model", 24, "--hidden", 20, "--lr", 0.01,
            "--tokens", "bytes", "--data", "text", "--arch", arch, "--save", "lm.st", "--export-c", "lm.c",
            *(("--heads", 2) if arch != "awd-lstm" else ()))
        subprocess.run([*COMPILER, "-O2", f"-DCONTEXT={len(text)}", f"-DCOUNT={count}", "-o", "writer", "writer.c",
                        "lm.c"], check=True)
        theirs = run("--load", "lm.st", "--sample", text, "--length", count, "--temperature", 0,
                     *(("--window", "slide") if arch != "awd-lstm" else ()))
        ours = subprocess.run(["./writer", text], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8")
        assert text + ours + "\n" in theirs, f"{arch}: {ours!r} in C, {theirs!r} by the program"
        assert arch != "gpt2" or len(set(ours)) > 5, f"{arch} has learnt nothing: {ours!r}"


def after_a_training():
    run("--steps", 2, "--context", 12, "--layers", 1, "--arch", "awd-lstm", "--d-model", 24, "--hidden", 20,
        "--save", "new.st", "--export-c", "new.c")
    assert os.path.exists("new.st") and os.path.exists("new.c") and os.path.exists("new.h")


def is_refused_early():
    misused("--export-c lm.txt: the name of a C file ends with .c", "--export-c", "lm.txt")


if not COMPILER or subprocess.run([*COMPILER, "--version"], stdout=subprocess.DEVNULL,
                                  check=False).returncode != 0:
    print("the C compiler of the build cannot be run")
    sys.exit(77)
sys.exit(perform([of_a_recurrent_network, of_transformers, writes_the_same_text, after_a_training, is_refused_early]))
