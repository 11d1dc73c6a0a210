#!/usr/bin/env python3
"""ship keeps the loops and branches of ONNX files, and its C files agree with the library.

usage: ship_loops.py WRITE_NETWORKS SHIP COMPILER...
"""

import os
import re
import subprocess
import sys
import tempfile

WRITE, SHIP = map(os.path.abspath, sys.argv[1:3])
COMPILER = " ".join(sys.argv[3:])


def run(*words, code=0):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == code, (words, done.returncode, done.stdout)
    return done.stdout.replace("\n", " ")


def ship(name, *more, code=0):
    return run(SHIP, f"loops_{name}.onnx", "--c", "net.c", "--check", "--compiler", COMPILER, *more, code=code)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run(WRITE, folder)
    for net, functions in (("forwards", ["--jacobian"]), ("nested", []), ("nested_f64", ["--f64", "--vjp", "--jvp"]),
                           ("until_it_converges", ["--jacobian"]), ("branches", ["--vjp"])):
        said = ship(net, *functions)
        assert said.count("agrees") == 1 + sum(f != "--f64" for f in functions), said
        with open("net.c", encoding="utf-8") as file:
            text = file.read()
        assert re.search(r"\bif \(" if net == "branches" else r"\b(for|while) \(", text), text
    # A maximum passes NaN on, so the file has a NaN, which a note names; sin needs the mathematical library.
    said = ship("until_it_converges")
    assert "note: number has elements that are NaN" in said and "link it with -lm" in said, said
print("ship keeps loops")
