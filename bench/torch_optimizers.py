#!/usr/bin/env python3
"""Compares the steps of optimizers with torch.optim, step by step in turn.

    torch_optimizers.py BENCH_OPTIMIZERS [--optimizers SGD,...] [--threads 1,2] [--rounds 15] [--json]

bench/optimizers.c describes the parameters. Both sides start from equal parameters and gradients, and have their
own defaults, which are equal, with the rate 0.001. PyTorch's Muon multiplies matrices in bf16, adze's in f32. If
what all steps have changed differs, by the mean of its squares, the script ends with 1. Only the ratio means
something, because other work on the machine slows down both.
"""

import argparse
import sys
import time

from peers import run_with
from turns import both_sides, compare_calls, load_start

OPTIMIZERS = ('SGD', 'Adam', 'AdamW', 'RAdam', 'RMSprop', 'Adagrad', 'NAdam', 'Adamax', 'Adadelta', 'ASGD', 'Rprop',
              'Adafactor', 'Muon')


def torch_side(name, threads, start):
    """Answers lines on standard input as bench/optimizers.c does."""
    import torch

    torch.set_num_threads(threads)
    given = load_start(start)
    weights = []
    for i in range(len(given) // 2):
        weights.append(torch.nn.Parameter(given[f'w{i}'].clone()))
        weights[-1].grad = given[f'g{i}'].clone()
    optimizer = getattr(torch.optim, name)(weights, lr=1e-3)

    def mean(changed):
        changes = (w.detach() - given[f'w{i}'] if changed else w.detach() for i, w in enumerate(weights))
        return sum(c.square().mean().item() for c in changes) / len(weights)

    for line in sys.stdin:
        if line.startswith('first'):
            print(f'{mean(False):.9g}', flush=True)
            continue
        begin, cpu = time.perf_counter(), time.process_time()
        optimizer.step()
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        print(f'{seconds:.9f} {cpu:.9f} {mean(True):.9g}', flush=True)


def compare(program, name, threads, rounds, as_json):
    sides = both_sides(__file__, program, [name, threads], threads, tolerance=1e-5)
    tolerance = 1e-2 if name == 'Muon' else 1e-4
    compare_calls(sides, name, threads, rounds, 'the changes of the parameters', tolerance, as_json)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--optimizers', default=','.join(OPTIMIZERS))
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--json', action='store_true', help='one object per comparison')
    arguments = parser.parse_args()
    for name in arguments.optimizers.split(','):
        for threads in map(int, arguments.threads.split(',')):
            compare(arguments.program, name, threads, arguments.rounds, arguments.json)


run_with('torch')
main()
