#!/usr/bin/env python3
"""Prints the files that tests need, as ninja names them, so that nothing else is compiled.

    meson test --list ... | needed.py TESTS.json TARGETS.json BUILD      what `meson introspect` writes
"""
import json
import os
import sys

# The last part of a line of `meson test --list`: "adze:ops / NAME", and in Meson 1.12 "ops - adze:NAME".
with open(sys.argv[1], encoding="utf-8") as stream:
    tests = json.load(stream)
with open(sys.argv[2], encoding="utf-8") as stream:
    targets = {target["id"]: target["filename"] for target in json.load(stream)}
build = os.path.realpath(sys.argv[3])
listed = {line.rstrip("\n").split(" / ")[-1].split(" - adze:")[-1] for line in sys.stdin}
chosen = [test for test in tests if test["name"] in listed]
needed = {file for test in chosen for name in test.get("depends", []) for file in targets.get(name, [])}
# A program of the tests stands in its command only, if Meson is older than the list of what a test depends on.
built = {file for files in targets.values() for file in files}
needed |= {word for test in chosen for word in test["cmd"] if word in built}
print("\n".join(sorted(os.path.relpath(os.path.realpath(file), build) for file in needed)))
