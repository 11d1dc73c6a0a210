#!/usr/bin/env python3
"""Compares the steps of optimizers with torch.optim, step by step in turn.

    torch_optimizers.py BENCH_OPTIMIZERS [--optimizers SGD,...] [--threads 1,2] [--rounds 15] [--json]

bench/optimizers.c describes the parameters. Both sides start from equal parameters and gradients, and have their
own defaults, which are equal, with the rate 0.001. PyTorch's Muon multiplies matrices in bf16, adze's in f32. If
the parameters differ after all steps, the script ends with 1. Only the ratio means something, because other work
on the machine slows down both.
"""

import argparse
import json
import statistics
import sys
import time

from peers import run_with
from turns import both_sides, load_start

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

    def mean():
        return sum(w.detach().square().mean().item() for w in weights) / len(weights)

    for line in sys.stdin:
        if line.startswith('first'):
            print(f'{mean():.9g}', flush=True)
            continue
        begin, cpu = time.perf_counter(), time.process_time()
        optimizer.step()
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        print(f'{seconds:.9f} {cpu:.9f} {mean():.9g}', flush=True)


def compare(program, name, threads, rounds, as_json):
    sides = both_sides(__file__, program, [name, threads], threads, tolerance=1e-5)
    for side in sides.values():
        side.step()  # makes the states
    times, means = {side: [] for side in sides}, {}
    for _ in range(rounds):
        for side, process in sides.items():
            *its, means[side] = process.step()
            times[side].append(its)
    for process in sides.values():
        process.end()
    if abs(means['adze'] - means['PyTorch']) > 1e-4 * means['PyTorch']:
        sys.exit(f'{name}: the parameters differ: {means}')
    least = {side: [1e3 * min(t[k] for t in times[side]) for k in (0, 1)] for side in sides}
    paired = statistics.median(t[0] / a[0] for t, a in zip(times['PyTorch'], times['adze']))
    ratios = {'median': paired, 'least': least['PyTorch'][0] / least['adze'][0],
              'processor': least['PyTorch'][1] / least['adze'][1]}
    if as_json:
        return print(json.dumps({'name': name, 'threads': threads, 'ratio': ratios, **{
            side: {'least_ms': t[0], 'processor_ms': t[1]} for side, t in least.items()}}), flush=True)
    print(f'{name:10}, {threads} threads: PyTorch {least["PyTorch"][0]:8.3f} ms, adze {least["adze"][0]:8.3f} ms '
          f'at least; adze is {ratios["median"]:.2f} times as fast by medians, {ratios["least"]:.2f} by minima, '
          f'{ratios["processor"]:.2f} by processor time', flush=True)


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
