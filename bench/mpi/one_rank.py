#!/usr/bin/env python3
"""Compares one rank under mpirun with programs without it, and two ranks with two threads.

usage: one_rank.py BENCH_PARALLEL [--rounds N] [--steps N] [--micro-batches 1,8] [--only NAME,...]

Both programs of a pair stay alive and run a round of steps in turn, so both meet the same conditions. A ratio
is that of the medians of one round; the table shows the median over the rounds, and the middle half of them.
`loop` is an ordinary training loop that adds up the gradients of as many micro-batches, without data-parallel
training. `single` is data-parallel training in a group of one rank, without MPI.
"""

import argparse
import sys

from launch import Side, ratios, spread

W3 = ['--model', 'w3', '--optimizer', 'sgd', '--rows', '512']
GPT2 = ['--model', 'gpt2', '--rows', '8']

# name: what it is, first side's ranks and options, second side's, the most that the ratio may be
PAIRS = {
    'w3-loop': ('W3: mpirun -n 1, of a loop', (0, W3 + ['--group', 'none']), (1, W3), 1.02),
    'w3-single': ('W3: mpirun -n 1, of a single group', (0, W3 + ['--group', 'single']), (1, W3), 1.02),
    'gpt2-loop': ('GPT-2: mpirun -n 1, of a loop', (0, GPT2 + ['--group', 'none']), (1, GPT2), 1.02),
    'w3-threads': ('W3: mpirun -n 2, of -n 1 with two threads', (1, W3 + ['--threads', '2']), (2, W3), 1.05),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--rounds', type=int, default=21)
    parser.add_argument('--steps', type=int, default=3)
    parser.add_argument('--micro-batches', default='2,8')
    parser.add_argument('--only', default=','.join(PAIRS))
    args = parser.parse_args()
    print('| | micro-batches | by the clock | by processor time | asked |\n|---|---|---|---|---|')
    for name in args.only.split(','):
        what, first, second, most = PAIRS[name]
        for parts in args.micro_batches.split(','):
            common = ['--steps', str(args.steps), '--micro-batches', parts]
            sides = [Side(args.program, ranks, options + common) for ranks, options in (first, second)]
            clock, processor = ratios(sides, args.rounds)
            for side in sides:
                side.end()
            print(f'| {what} | {parts} | {spread(clock)} | {spread(processor)} | {most} |', flush=True)


if __name__ == '__main__':
    sys.exit(main())
