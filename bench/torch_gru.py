#!/usr/bin/env python3
"""Compares a training step of a GRU with PyTorch, step by step in turn.

    torch_gru.py BENCH_GRU [--threads 1,2] [--rounds 15] [--json]

bench/gru.c describes the network. Both sides start from equal weights and data. If their first losses differ,
the script ends with 1. Only the ratio means something, because other work on the machine slows down both.
Memory is the growth of the process's peak during a step, in the first step and later.
"""

import argparse
import sys

from peers import run_with
from turns import answer_steps, both_sides, compare_steps, load_start

WIDTH, LAYERS = 256, 2


def torch_side(threads, start):
    """Answers lines on standard input as bench/gru.c does."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    model = nn.GRU(WIDTH, WIDTH, LAYERS)
    given = load_start(start)
    x, target = given.pop('x'), given.pop('target')
    model.load_state_dict(given, strict=True)
    adam = torch.optim.Adam(model.parameters(), lr=0.001)

    def loss_of():
        return nn.functional.mse_loss(model(x)[0], target)

    def first():
        with torch.no_grad():
            return loss_of().item()

    def step():
        adam.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        adam.step()
        return loss.item()

    answer_steps(first, step)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(int(sys.argv[2]), sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--json', action='store_true', help='one object per comparison')
    arguments = parser.parse_args()
    for threads in map(int, arguments.threads.split(',')):
        sides = both_sides(__file__, arguments.program, [threads], threads)
        compare_steps(sides, 'gru', threads, arguments.rounds, arguments.json)


run_with('torch')
main()
