#!/usr/bin/env python3
"""What adze-parity says of vectors that are right, wrong, unknown or cut off.

usage: parity.py PROGRAM GOLDEN KERNELS

KERNELS is the Meson option: with "native" there are no kernels for lesser processors.
"""

import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "examples"))
from program import optional_path, perform, run

GOLDEN, KERNELS = optional_path(2), sys.argv[3]
LINE = re.compile(r"(\S+) +(f32|f64) (\S+) +(\S+) +(pass|FAIL) (.*)$")
CASES = ["gelu_none", "feed_forward_geglu", "run_adam_amsgrad", "lr_restarts"]  # one of each runner


def read(name):
    with open(f"{GOLDEN}/{name}.safetensors", "rb") as stream:
        return stream.read()


def write(name, data):
    with open(name, "wb") as stream:
        stream.write(data)


def judged(*arguments, code=0):
    """The lines of the cases, and the counts."""
    *lines, last = run(*arguments, code=code).splitlines()
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", last)
    assert counts, last
    cases = [LINE.match(line) for line in lines]
    assert all(cases), lines
    return [case.groups() for case in cases], tuple(map(int, counts.groups()))


def right():
    paths = [f"{GOLDEN}/{name}.safetensors" for name in CASES]
    for options, precision in ([], "f64"), (["--f32"], "f32"):
        cases, counts = judged(*options, *paths)
        assert counts == (len(CASES), 0)
        for name, case in zip(CASES, cases):
            assert case[0] == name and case[1] == precision and case[4] == "pass", case
            assert 0 <= float(case[3]) < 1e-4 and case[2] != "-", case


def wrong():
    """Every result and every gradient is looked at."""
    for name in CASES:
        data = read(name)
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        changed = 0
        for tensor, entry in header.items():
            if tensor.startswith(("output.", "grad.")) and entry["dtype"] == "F64":
                at = 8 + size + entry["data_offsets"][1] - 8
                value = struct.unpack("<d", data[at:at + 8])[0]
                write("wrong", data[:at] + struct.pack("<d", value + 1) + data[at + 8:])
                for options in [], ["--f32"]:
                    cases, counts = judged(*options, "wrong", f"{GOLDEN}/{name}.safetensors", code=1)
                    assert counts == (1, 1) and [case[4] for case in cases] == ["FAIL", "pass"], cases
                changed += 1
        assert changed > 0, name


def unknown():
    data = read("feed_forward_geglu")
    assert b"labml FeedForward" in data
    write("unknown", data.replace(b"labml FeedForward", b"labml FeedBackward"[:17]))
    cases, counts = judged("unknown", code=1)
    assert counts == (0, 1) and "no module serves" in cases[0][5], cases


def unreadable():
    data = read("gelu_none")
    write("nothing", b"")
    write("short", data[:6])
    write("half", data[:len(data) // 2])
    write("cut", data[:-8])
    write("no-config", struct.pack("<Q", 2) + b"{}")
    files = ["nothing", "short", "half", "cut", "no-config", "absent"]
    cases, counts = judged(*files, code=1)
    assert counts == (0, len(files)), counts
    for name, case in zip(files, cases):
        assert case[0] == name and case[4] == "FAIL" and len(case[5]) > 10, case
    assert "usage: " in run(code=1)


def instruction_sets():
    path = f"{GOLDEN}/gelu_none.safetensors"
    if KERNELS == "all":
        assert run(path, env={"ADZE_CPU": "baseline"}).endswith("1 passed, 0 failed\n")
    assert "ADZE_CPU is mmx, but kernels run with" in run(path, env={"ADZE_CPU": "mmx"}, code=1)


def main():
    return perform([right, wrong, unknown, unreadable, instruction_sets])


if __name__ == "__main__":
    sys.exit(main())
