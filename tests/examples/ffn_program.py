"""What the tests of ffn-regression share."""

import csv
import json
import math
import random
import re
import struct

RESULT = re.compile(r"result: test_rmse=(\S+) test_r2=(\S+) ridge_rmse=(\S+) trivial_rmse=(\S+) train_rmse=(\S+) "
                    r"epochs=(\d+) seconds=(\S+)$")


def result(output):
    match = RESULT.match(output.splitlines()[-1])
    assert match, output
    names = ["test_rmse", "test_r2", "ridge_rmse", "trivial_rmse", "train_rmse", "epochs", "seconds"]
    return dict(zip(names, map(float, match.groups())))


def write_table(path, rows, header=("a", "b", "note", "y")):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def made_up_rows(count):
    draw = random.Random(1)
    rows = []
    for _ in range(count):
        a, b = draw.uniform(-3, 3), draw.uniform(0, 1000)
        rows.append((f"{a:.6f}", f"{b:.3f}", 'said "no", twice', f"{50 + 4 * math.sin(a) + b / 100:.6f}"))
    return rows


def metadata(path):
    with open(path, "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        return json.loads(stream.read(size))


def content(path):
    with open(path, "rb") as stream:
        return stream.read()
