#!/usr/bin/env python3
"""Compares a TransformerEncoder with PyTorch, step by step in turn: training steps, and inference of one sequence,
where PyTorch takes its fast path.

    torch_encoder.py BENCH_ENCODER [train] [infer] [--threads 1,2] [--rounds 15] [--json]

bench/encoder.c describes the network. Both sides start from equal weights and data. If their first losses differ,
the script ends with 1. Only the ratio means something, because other work on the machine slows down both.
Memory is the growth of the process's peak during a step, in the first step and later.
"""

import argparse
import sys

from peers import run_with
from turns import answer_steps, both_sides, compare_steps, load_start

WIDTH, HEADS, HIDDEN, LAYERS = 256, 4, 1024, 4


def torch_side(what, threads, start):
    """Answers lines on standard input as bench/encoder.c does."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, dropout=0, batch_first=True)
    model = nn.TransformerEncoder(layer, LAYERS)
    given = load_start(start)
    x, target = given.pop('x'), given.pop('target')
    model.load_state_dict(given, strict=True)
    model.train(what == 'train')
    adam = torch.optim.Adam(model.parameters(), lr=0.001)

    def loss_of():
        return nn.functional.mse_loss(model(x), target)

    def first():
        with torch.no_grad():
            return loss_of().item()

    def infer():
        with torch.inference_mode():
            return model(x)[0, 0, 0].item()

    def step():
        adam.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        adam.step()
        return loss.item()

    answer_steps(first, step if what == 'train' else infer)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('what', nargs='*', help='train, infer; both if left out')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--json', action='store_true', help='one object per comparison')
    arguments = parser.parse_args()
    for what in arguments.what or ('train', 'infer'):
        for threads in map(int, arguments.threads.split(',')):
            sides = both_sides(__file__, arguments.program, [what, threads], threads)
            compare_steps(sides, f'encoder-{what}', threads, arguments.rounds, arguments.json)


run_with('torch')
main()
