#!/usr/bin/env python3
"""Checks, without PyTorch, that a comparison starts from equal weights.

usage: check_start.py ADZE_BENCH

Computes the first loss that `adze-bench toy` reports again, from the weights and data that it saved. Then
checks that a comparison ends with 1 if one side answers with another loss.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

from turns import agree


def read_f32(path):
    """The tensors of a file in safetensors form, as flat lists."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    tensors, rest = json.loads(data[8:8 + length]), data[8 + length:]
    tensors.pop("__metadata__", None)
    return {name: list(struct.unpack(f"<{(end - begin) // 4}f", rest[begin:end]))
            for name, entry in tensors.items() for begin, end in [entry["data_offsets"]]}


def toy_loss(t):
    """Linear(1, 32) ReLU Linear(32, 1) and the mean squared error."""
    hidden = list(zip(t["0.weight"], t["0.bias"], t["2.weight"]))
    errors = [t["2.bias"][0] + sum(max(w * x + b, 0) * v for w, b, v in hidden) - target
              for x, target in zip(t["x"], t["target"])]
    return sum(e * e for e in errors) / len(errors)


def refused(losses):
    try:
        agree(losses, 1e-4, sys.stderr)
    except SystemExit as end:
        return "first losses" in str(end.code)  # a text: the process would end with 1
    return False


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "start.safetensors")
        run = subprocess.run([sys.argv[1], "toy", "--steps", "200", "--rounds", "--start", path],
                             input="first\ngo\nfirst\n", stdout=subprocess.PIPE, text=True, check=True)
        lines = run.stdout.splitlines()
        first, later = (json.loads(lines[i])["first_loss"] for i in (0, 2))
        wanted = toy_loss(read_f32(path))
    assert first == later, "the first loss is not that of the last round"
    assert abs(first - wanted) < 1e-5 * wanted, (first, wanted)
    agree({"adze": first, "by hand": wanted}, 1e-4)
    assert refused({"adze": first, "PyTorch": 1.01 * first})
    assert refused({"adze": first, "PyTorch": float("nan")})
    assert refused({"adze": float("nan"), "PyTorch": first})


if __name__ == "__main__":
    main()
