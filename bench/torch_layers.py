#!/usr/bin/env python3
"""Compares single layers of networks of images, and sorting, with PyTorch, round by round in turn.

    torch_layers.py BENCH_LAYERS [--layers conv3x3,...] [--threads 1,2] [--rounds 9] [--json]

bench/layers.c describes the layers. Both sides start from equal tensors. If their results differ, the script
ends with 1. Only the ratio means something, because other work on the machine slows down both.
"""

import argparse
import sys
import time

from peers import run_with
from turns import both_sides, compare_calls, load_start

CALLS = 8
LAYERS = ('conv3x3', 'conv1x1', 'depthwise', 'depthwise2', 'grouped', 'stem', 'transposed', 'max_pool2',
          'max_pool3', 'avg_pool2', 'avg_pool3', 'batch_norm', 'relu', 'sort', 'sort_rows')


def torch_side(layer, threads, start):
    """Answers lines on standard input as bench/layers.c does."""
    import torch
    from torch.nn import functional as f

    torch.set_num_threads(threads)
    given = load_start(start)
    x, upstream, weight, bias = (given.get(name) for name in ('x', 'upstream', 'weight', 'bias'))
    sorts = layer.startswith('sort')
    leaves = [] if sorts else [t for t in (x, weight, bias) if t is not None]
    for leaf in leaves:
        leaf.requires_grad_(True)
    forward = {
        'conv3x3': lambda: f.conv2d(x, weight, bias, padding=1),
        'conv1x1': lambda: f.conv2d(x, weight, bias),
        'depthwise': lambda: f.conv2d(x, weight, bias, padding=1, groups=x.shape[1]),
        'depthwise2': lambda: f.conv2d(x, weight, bias, stride=2, padding=1, groups=x.shape[1]),
        'grouped': lambda: f.conv2d(x, weight, bias, padding=1, groups=8),
        'stem': lambda: f.conv2d(x, weight, bias, stride=2, padding=3),
        'transposed': lambda: f.conv_transpose2d(x, weight, bias, stride=2, padding=1),
        'max_pool2': lambda: f.max_pool2d(x, 2),
        'max_pool3': lambda: f.max_pool2d(x, 3, 2, 1),
        'avg_pool2': lambda: f.avg_pool2d(x, 2),
        'avg_pool3': lambda: f.avg_pool2d(x, 3, 2, 1),
        'batch_norm': lambda: f.batch_norm(x, None, None, weight, bias, True),
        'relu': lambda: f.relu(x),
        'sort': lambda: torch.sort(x, stable=True)[0],
        'sort_rows': lambda: torch.sort(x, stable=True)[0],
    }[layer]

    def call():
        y = forward()
        if not sorts:
            for leaf in leaves:
                leaf.grad = None
            y.backward(upstream)

    for line in sys.stdin:
        if line.startswith('first'):
            print(f'{(forward().detach() + upstream).square().mean().item():.9g}', flush=True)
            continue
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(CALLS):
            call()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        checked = x if sorts else x.grad
        print(f'{seconds / CALLS:.9f} {cpu / CALLS:.9f} {checked.square().mean().item():.6g}', flush=True)


def compare(program, layer, threads, rounds, as_json):
    sides = both_sides(__file__, program, [layer, threads], threads, tolerance=1e-5)
    compare_calls(sides, layer, threads, rounds, 'the gradients', as_json=as_json)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--layers', default=','.join(LAYERS))
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--json', action='store_true', help='one object per comparison')
    arguments = parser.parse_args()
    for layer in arguments.layers.split(','):
        for threads in map(int, arguments.threads.split(',')):
            compare(arguments.program, layer, threads, arguments.rounds, arguments.json)


run_with('torch')
main()
