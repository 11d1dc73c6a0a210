#!/usr/bin/env python3
"""Compares two builds of adze-bench, operator by operator.

usage: compare_ops.py BEFORE AFTER [--size N] [--rounds N] [--all]

BEFORE and AFTER are adze-bench programs, which take turns. Prints the operators whose least time changed by
more than a tenth, forward or with backward, the slowest first; with --all every operator. The last line is
the geometric mean of all ratios. The script prints and checks nothing.
"""

import argparse
import json
import math
import subprocess


def times(program, size):
    run = subprocess.run([program, 'op', 'all', '--size', str(size), '--json'],
                         check=True, stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line['op']: (line['forward_ns'], line['with_backward_ns']) for line in lines}


def least(rounds):
    """Of every operator in all rounds, the least of each time."""
    return {op: [min(times[op][way] for times in rounds) for way in (0, 1)] for op in rounds[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('before')
    parser.add_argument('after')
    parser.add_argument('--size', type=int, default=16384)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--all', action='store_true', help='operators that did not change, too')
    options = parser.parse_args()
    rounds = [[], []]
    for _ in range(options.rounds):
        for side, program in enumerate((options.before, options.after)):
            rounds[side].append(times(program, options.size))
    before, after = map(least, rounds)
    ratios = {op: [after[op][way] / before[op][way] for way in (0, 1)]
              for op in before if op in after}
    for op, (forward, both) in sorted(ratios.items(), key=lambda item: -max(item[1])):
        if options.all or max(forward, both) > 1.1 or min(forward, both) < 0.9:
            print(f'{op:16s} forward {before[op][0] / 1e3:9.2f} us, now {forward:5.2f} of that; '
                  f'with backward {before[op][1] / 1e3:9.2f} us, now {both:5.2f}')
    mean = math.exp(sum(math.log(r) for pair in ratios.values() for r in pair) / len(ratios) / 2)
    print(f'{len(ratios)} operators over {options.size} elements; geometric mean {mean:.3f}')


if __name__ == '__main__':
    main()
