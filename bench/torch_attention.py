#!/usr/bin/env python3
"""Compares causal attention, forward and backward, with PyTorch, step by step in turn.

    torch_attention.py BENCH_ATTENTION [--lengths 512,2048] [--threads 1,2] [--rounds 15] [--side fused]

Batch 1, 8 heads of 64, equal inputs on both sides. If the sums of squares of the gradients differ, the script
ends with 1. PyTorch's side is one of these:

    fused    scaled_dot_product_attention with is_causal, the default; PyTorch 2 computes it in blocks
    plain    matmul, masked_fill, softmax, matmul, as networks for PyTorch 1 spell it out
    bf16     fused, with operands in bf16; adze's attention is computed in f32 all the same

Only the ratio means something, because other work on the machine slows down both. Memory is the growth of the
process's peak during a step.
"""

import argparse
import math
import statistics
import sys
import time

from peers import run_with
from turns import both_sides, fresh_peak, process_bytes

HEADS, WIDTH = 8, 64


def torch_side(length, threads, kind):
    """Answers lines on standard input as bench/attention.c does."""
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(threads)

    def numbers(step):
        phase = torch.arange(1, HEADS * WIDTH * length + 1, dtype=torch.float64) * step
        return phase.sin().float().reshape(1, HEADS, length, WIDTH)

    q, k, v = inputs = [numbers(0.37 + 0.21 * i).requires_grad_() for i in range(3)]
    upstream = numbers(0.7)
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)

    def clear():
        for t in inputs:
            t.grad = None

    def attend(q, k, v):
        if kind == 'plain' or not hasattr(F, 'scaled_dot_product_attention'): # PyTorch 1
            scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH)
            return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def step():
        clear()
        if kind == 'bf16':
            attend(q.bfloat16(), k.bfloat16(), v.bfloat16()).float().backward(upstream)
        else:
            attend(q, k, v).backward(upstream)

    def squares():
        return sum((t.grad.double() ** 2).sum().item() for t in inputs)

    for line in sys.stdin:
        if line.startswith('first'):
            step()
            print(f'{squares():.9e}', flush=True)
            continue
        memory = line.startswith('memory')
        if memory:
            clear()
            before = fresh_peak()
        start, cpu = time.perf_counter(), time.process_time()
        step()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        growth = ''
        if memory:
            growth = f' {squares():.9e} 0 {process_bytes("VmHWM") - before}'
        print(f'{seconds:.6f} {cpu:.6f}{growth}', flush=True)


def compare(program, length, threads, rounds, kind):
    sides = both_sides(__file__, program, [length, threads, kind], threads, saves=False,
                       tolerance=0.05 if kind == 'bf16' else 2e-6)
    for side in sides.values():
        side.step()
        side.step()
    memory = {name: side.step('memory') for name, side in sides.items()}
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            times[name].append(side.step()[:2])
    figures = {}
    for name, side in sides.items():
        side.end()
        wall, cpu = zip(*times[name])
        figures[name] = statistics.median(wall), min(wall), min(cpu), memory[name][4]
        print('length {}, {} threads, {:8}: median {:7.2f} ms, least {:7.2f} ms, processor time at '
              'least {:7.2f} ms; peak grows by {:6.1f} MB; sum of squares {:.7g}'.format(
                  length, threads, name, *(1e3 * t for t in figures[name][:3]),
                  figures[name][3] / 1e6, memory[name][2]))
    ratio = [a / b for a, b in zip(figures['PyTorch'], figures['adze'])]
    print(f'length {length}, {threads} threads, {kind}: adze is {ratio[0]:.2f} times as fast by medians, '
          f'{ratio[1]:.2f} by minima, {ratio[2]:.2f} by processor time; by its own count its peak '
          f'grows by {memory["adze"][3] / 1e6:.1f} MB', flush=True)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--lengths', default='512,2048')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--side', choices=('fused', 'plain', 'bf16'), default='fused')
    arguments = parser.parse_args()
    for length in arguments.lengths.split(','):
        for threads in arguments.threads.split(','):
            compare(arguments.program, int(length), int(threads), arguments.rounds, arguments.side)


run_with('torch')
main()
