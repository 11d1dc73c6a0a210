#!/usr/bin/env python3
"""Compares two builds of adze, step by step in turn: what does a change of the library cost?

    two_builds.py OLD/bench NEW/bench [--rows W1,mlp,W2,...] [--rounds 15] [--threads 1]

OLD/bench and NEW/bench are the folders of the benchmark programs in two build folders. A row is one of
`table.py`, or a model with a program: char-small, char-large, char-wide, char-small-captured, lstm, gru, cnn, stack,
attention-128. For each row it prints the median over the rounds of the new build's time over the old one's, and
the ratio of the shortest times. Processor time is compared, because other work on the machine changes it less.
"""

import argparse
import statistics

from table import ROWS, Contender
from turns import Side

PROGRAMS = {
    "char-small": ("bench-char-lm", "small"),
    "char-large": ("bench-char-lm", "large"),
    "char-wide": ("bench-char-lm", "wide"),
    "char-small-captured": ("bench-char-lm", "small-captured"),
    "lstm": ("bench-lstm-lm",),
    "gru": ("bench-gru",),
    "cnn": ("bench-conv", "cnn"),
    "stack": ("bench-conv", "stack"),
    "attention-128": ("bench-attention", "128"),
    "attention-512": ("bench-attention", "512"),
}
ALL = "W1,mlp,W2,W3,W4,W6,W7,infer1,infer8,infer128," + ",".join(PROGRAMS)


class Step(Contender):
    """`adze-bench COMMAND`, whose round is many steps."""

    def __init__(self, folder, row, threads, captured):
        _, command, options, steps = ROWS[row]
        options = options.split() if isinstance(options, str) else options
        options = ["--captured"] * captured + options
        if command == "ffn-step":
            options = options + ["--threads", str(threads)]
        super().__init__([f"{folder}/adze-bench", command, *options, "--rounds", "--steps", str(steps), "--json"],
                         {"OMP_NUM_THREADS": str(threads)})

    def seconds(self):
        self.round()
        return self.found[-1]["cpu_us"] * 1e-6


class Model(Side):
    """The program of a model, which makes one step for each line."""

    def __init__(self, folder, row, threads):
        program, *arguments = PROGRAMS[row]
        super().__init__([f"{folder}/{program}", *arguments, str(threads)], threads)

    def seconds(self):
        return sum(self.step()[1] for _ in range(3))


def contender(folder, row, threads):
    if row in PROGRAMS:
        return Model(folder, row, threads)
    name = row.removesuffix("-captured")
    return Step(folder, name, threads, name != row)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("old")
    p.add_argument("new")
    p.add_argument("--rows", default=ALL)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    print(f"{'row':<22} {'new/old':>8} {'least':>8}   {'new, ms':>9}")
    for row in args.rows.split(","):
        sides = [contender(folder, row, args.threads) for folder in (args.old, args.new)]
        for side in sides:
            side.seconds()  # the first steps also fill caches
        times = [[side.seconds() for side in (sides if r % 2 == 0 else sides[::-1])] for r in range(args.rounds)]
        times = [pair if r % 2 == 0 else pair[::-1] for r, pair in enumerate(times)]
        for side in sides:
            side.end()
        ratio = statistics.median(new / old for old, new in times)
        old, new = (min(column) for column in zip(*times))
        print(f"{row:<22} {ratio:8.3f} {new / old:8.3f}   {1e3 * new:9.3f}", flush=True)


if __name__ == "__main__":
    main()
