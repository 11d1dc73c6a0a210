#!/usr/bin/env python3
"""Compares training steps of two networks of convolutions with PyTorch, step by step in turn.

    torch_conv.py BENCH_CONV [--networks cnn,stack] [--threads 1,2] [--rounds 15]

bench/conv.c describes the networks. Both sides start from equal weights and data. If their first losses
differ, the script ends with 1. Only the ratio means something, because other work on the machine slows down
both. Memory is the growth of the process's peak during a step, in the first step and later.
"""

import argparse
import statistics
import sys
import time

from turns import both_sides, fresh_peak, load_start, process_bytes

WIDTH, LAYERS = 16, 10


def torch_side(network, threads, start):
    """Answers lines on standard input as bench/conv.c does."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(threads)
    if network == 'cnn':
        layers = [nn.Identity()]
        for i, (before, after) in enumerate(((3, 32), (32, 64), (64, 128))):
            layers += [nn.Conv2d(before, after, 3, stride=1 if i == 0 else 2, padding=1), nn.Identity(),
                       nn.BatchNorm2d(after), nn.ReLU()]
        model = nn.Sequential(*layers, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
                              nn.Linear(128, 10))
    else:
        model = nn.Sequential(nn.Identity(), *(
            nn.Conv1d(WIDTH, WIDTH, 2, dilation=2 ** i) for i in range(LAYERS)))
    given = load_start(start)
    x, target = given.pop('x'), given.pop('target')
    model.load_state_dict(given, strict=True)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss_of():
        if network == 'cnn':
            return functional.cross_entropy(model(x), target)
        y = x
        for i in range(LAYERS):
            y = torch.relu(model[i + 1](functional.pad(y, (2 ** i, 0))))
        return functional.mse_loss(y, target)

    def first():
        model.eval()
        with torch.no_grad():
            loss = loss_of().item()
        model.train()
        return loss

    def step():
        sgd.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        sgd.step()
        return loss.item()

    for line in sys.stdin:
        if line.startswith('first'):
            print(f'{first():.9g}', flush=True)
            continue
        memory = line.startswith('memory')
        if memory:
            before = fresh_peak()
        start, cpu = time.perf_counter(), time.process_time()
        loss = step()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        growth = f' 0 {process_bytes("VmHWM") - before}' if memory else ''
        print(f'{seconds:.6f} {cpu:.6f} {loss:.6f}{growth}', flush=True)


def compare(program, network, threads, rounds):
    sides = both_sides(__file__, program, [network, threads], threads)
    first = {name: side.step('memory') for name, side in sides.items()}
    for side in sides.values():
        side.step()
        side.step()
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            times[name].append(side.step()[:2])
    later = {name: side.step('memory') for name, side in sides.items()}
    figures = {}
    for name, side in sides.items():
        side.end()
        wall, cpu = zip(*times[name])
        figures[name] = (statistics.median(wall), min(wall), min(cpu), first[name][4],
                         later[name][4])
        print('{}, {} threads, {:8}: median {:7.1f} ms, least {:7.1f} ms, processor time at least '
              '{:7.1f} ms; peak grows by {:6.1f} MB in the first step, {:6.1f} MB later; loss {:.4f}, '
              '{:.4f}'.format(network, threads, name, *(1e3 * t for t in figures[name][:3]),
                              *(b / 1e6 for b in figures[name][3:]), first[name][2], later[name][2]))
    ratio = [a / b if b else float('inf') for a, b in zip(figures['PyTorch'], figures['adze'])]
    print(f'{network}, {threads} threads: adze is {ratio[0]:.2f} times as fast by medians, '
          f'{ratio[1]:.2f} by minima, {ratio[2]:.2f} by processor time; by its own count its peak '
          f'grows by {first["adze"][3] / 1e6:.1f} and {later["adze"][3] / 1e6:.1f} MB', flush=True)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--networks', default='cnn,stack')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    arguments = parser.parse_args()
    for network in arguments.networks.split(','):
        for threads in arguments.threads.split(','):
            compare(arguments.program, network, int(threads), arguments.rounds)


main()
