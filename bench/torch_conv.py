#!/usr/bin/env python3
"""Compares training steps of networks of convolutions with PyTorch, step by step in turn.

    torch_conv.py BENCH_CONV [--networks cnn,stack,volumes,inference] [--threads 1,2] [--rounds 15] [--json]

bench/conv.c describes the networks. Both sides start from equal weights and data. If their first losses
differ, the script ends with 1. Only the ratio means something, because other work on the machine slows down
both. Memory is the growth of the process's peak during a step, in the first step and later.
"""

import argparse
import sys

from peers import run_with
from turns import Side, answer_steps, both_sides, compare_steps, load_start

WIDTH, LAYERS = 16, 10


def torch_side(network, threads, start):
    """Answers lines on standard input as bench/conv.c does."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(threads)
    if network == 'cnn':
        layers = [nn.Identity()]
        for before, after in ((3, 32), (32, 64), (64, 128)):
            layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
        model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    elif network in ('volumes', 'inference'):
        model = nn.Sequential(nn.Conv3d(WIDTH, WIDTH, 3, padding=1))
    else:
        # Names as in adze's Sequential, where a ReLU follows each convolution.
        model = nn.Sequential(nn.Identity())
        for i in range(LAYERS):
            model.extend([nn.Conv1d(WIDTH, WIDTH, 2, dilation=2 ** i), nn.ReLU()])
    given = load_start(start)
    x, target = given.pop('x'), given.pop('target')
    model.load_state_dict(given, strict=True)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss_of():
        if network == 'cnn':
            return functional.cross_entropy(model(x), target)
        if network in ('volumes', 'inference'):
            return functional.mse_loss(model(x), target)
        y = x
        for i in range(LAYERS):
            y = torch.relu(model[2 * i + 1](functional.pad(y, (2 ** i, 0))))
        return functional.mse_loss(y, target)

    def first():
        model.eval()
        with torch.no_grad():
            loss = loss_of().item()
        model.train()
        return loss

    def step():
        if network == 'inference':
            with torch.no_grad():
                return model(x).mean().item()
        sgd.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        sgd.step()
        return loss.item()

    answer_steps(first, step)


def print_captured(program, network, threads):
    """The memory of adze's step as a plan, of which PyTorch has no counterpart."""
    side = Side([program, network, str(threads)], threads)
    side.step()
    wall, cpu, _, plan, growth = side.step('captured')
    side.end()
    print(f'{network}, {threads} threads, captured: {1e3 * wall:.2f} ms, processor time {1e3 * cpu:.2f} ms; the '
          f'plan takes {plan / 1e6:.1f} MB, and the process grows by {growth / 1e6:.1f} MB', flush=True)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--networks', default='cnn,stack,volumes,inference')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--json', action='store_true', help='one object per comparison')
    arguments = parser.parse_args()
    for network in arguments.networks.split(','):
        for threads in map(int, arguments.threads.split(',')):
            sides = both_sides(__file__, arguments.program, [network, threads], threads)
            compare_steps(sides, network, threads, arguments.rounds, arguments.json)
            if not arguments.json and network != 'inference':
                print_captured(arguments.program, network, threads)


run_with('torch')
main()
