#!/usr/bin/env python3
"""Prints the ten slowest tests of several runs, and those that have become slow without a reason.

usage: slow_tests.py REASONS LOG...     LOG: Meson's testlog*.json of one build; the first is the ordinary build

REASONS has a line "NAME: why" for each test that may take more than LIMIT seconds in the ordinary build. Tests that
take longer without a reason are listed. The list fails nothing, because a busy machine makes every test slow.
"""
import json
import pathlib
import sys

LIMIT = 5


def read(log):
    """Yields (name, seconds) of each test of a log that did run."""
    for line in pathlib.Path(log).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["result"] != "SKIP":
            yield entry["name"].split(" / ")[-1], entry["duration"]


def main():
    reasons = {}
    for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, why = line.partition(": ")
            reasons[name] = why.strip()
    logs = sys.argv[2:]
    every = [(seconds, name, pathlib.Path(log).parts[-3]) for log in logs for name, seconds in read(log)]
    print("the ten slowest tests")
    for seconds, name, build in sorted(every, reverse=True)[:10]:
        print(f"{seconds:6.1f} s  {build}: {name}")
    if pathlib.Path(logs[0]).parts[-3:] != ("build", "meson-logs", "testlog.json"):
        return 0
    ordinary = dict(read(logs[0]))
    for name, seconds in sorted(ordinary.items()):
        if seconds > LIMIT and not reasons.get(name):
            print(f"{name} takes {seconds:.1f} s and {sys.argv[1]} has no reason for more than {LIMIT} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
