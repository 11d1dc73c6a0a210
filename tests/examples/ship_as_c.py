#!/usr/bin/env python3
"""The example ship_as_c: it trains on a table, and its C file predicts the same.

usage: ship_as_c.py PROGRAM COMPILER...
"""

import subprocess
import sys

from ffn_program import made_up_rows, write_table
from program import perform, run

COMPILER = sys.argv[2:]


def predicts_the_same():
    write_table("t.csv", [(a, b, y) for a, b, _, y in made_up_rows(200)], ("a", "b", "y"))
    output = run("t.csv", " ".join(COMPILER))
    assert output.endswith("net.c predicts the same: yes\n"), output
    losses = [float(line.split()[-1].replace(",", ".")) for line in output.splitlines()[:-1]]
    assert losses[-1] < losses[0] / 2, output


if subprocess.run([*COMPILER, "--version"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
    print("the C compiler of the build cannot be run")
    sys.exit(77)
sys.exit(perform([predicts_the_same]))
