#!/usr/bin/env python3
"""ffn-regression --export-c: the C function predicts as the program does.

usage: ffn_export.py PROGRAM COMPILER...
"""

import csv
import os
import subprocess
import sys

from ffn_program import made_up_rows, write_table
from program import misused, perform, run

COMPILER = sys.argv[2:]

# The compiled program reads and prints numbers with a dot, also where a library that the tests load
# first chooses a locale.
PLAIN = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "LC_ALL")}

MAIN = """
#include <stdio.h>
#include "net.h"

int main(void)
{
    float x[2], y;
    while (scanf("%f,%f", &x[0], &x[1]) == 2) {
        net_run(x, &y);
        printf("%.9g\\n", y);
    }
    return 0;
}
"""


def compiled():
    with open("main.c", "w", encoding="utf-8") as file:
        file.write(MAIN)
    subprocess.run([*COMPILER, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "net.c", "main.c",
                    "-o", "net"], check=True)


def predicts_the_same():
    """Raw columns go in, and predictions come out in the target's unit; for each kind of network."""
    rows = [(a, b, y) for a, b, _, y in made_up_rows(300)]
    write_table("t.csv", rows, ("a */", "b", "y"))
    for more in (["--hidden", "20"], ["--hidden", "12,8", "--activation", "gelu", "--dropout", "0.1"],
                 ["--gated", "--activation", "silu"]):
        run("--data", "t.csv", "--target", "y", "--epochs", 30, "--plot", "none", "--save", "m.st",
            "--export-c", "net.c", *more)
        compiled()
        run("--load", "m.st", "--predict", "t.csv", "--output", "p.csv")
        with open("p.csv", encoding="utf-8", newline="") as file:
            wanted = [float(row[-1]) for row in list(csv.reader(file))[1:]]
        done = subprocess.run([os.path.abspath("net")], text=True, stdout=subprocess.PIPE, check=True,
                              input="\n".join(f"{a},{b}" for a, b, _ in rows), env=PLAIN)
        ours = [float(line) for line in done.stdout.split()]
        assert len(ours) == len(wanted) == 300
        largest = max(map(abs, wanted))
        worst = max(abs(a - b) for a, b in zip(ours, wanted))
        assert worst <= 1e-6 * largest, (more, worst)
        with open("net.h", encoding="utf-8") as file:
            text = file.read()
        assert "columns a __, b [1, 2]" in text, text


def goes_with_a_prediction():
    run("--load", "m.st", "--predict", "t.csv", "--output", "p.csv", "--export-c", "again.c")
    with open("net.c", encoding="utf-8") as one, open("again.c", encoding="utf-8") as other:
        assert one.read().replace("net", "again") == other.read().replace("net", "again")


def is_refused_early():
    misused("--export-c net.txt: the name of a C file ends with .c", "--export-c", "net.txt")
    misused("are the same file", "--export-c", "a.c", "--save", "a.c")


if not COMPILER or subprocess.run([*COMPILER, "--version"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
    print("the C compiler of the build cannot be run")
    sys.exit(77)
sys.exit(perform([predicts_the_same, goes_with_a_prediction, is_refused_early]))
