#!/usr/bin/env python3
"""Compares one training step of an LSTM language model with PyTorch, step by step in turn.

    torch_lstm_lm.py BENCH_LSTM_LM [--threads 1,2] [--rounds 15]

5,000 words, an embedding of 200 tied to the decoder, layers of 400, 400 and 200, 70 steps of a batch of 16,
cross entropy, Adam. Both sides start from equal weights and words. Only the ratio means something, because
other work on the machine slows down both. Memory is the growth of the process's peak during a step: the first
step, in which the optimizer makes its state, and a later one.
"""

import argparse
import statistics
import sys
import time

from peers import run_with
from turns import both_sides, fresh_peak, load_start, process_bytes

WORDS, EMBEDDING, HIDDEN, STEPS, BATCH = 5000, 200, 400, 70, 16


def torch_side(threads, start):
    """Answers lines on standard input as bench/lstm_lm.c does."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(WORDS, EMBEDDING)
            widths = [EMBEDDING, HIDDEN, HIDDEN, EMBEDDING]
            self.layers = nn.ModuleList(nn.LSTM(a, b) for a, b in zip(widths, widths[1:]))
            self.decoder = nn.Linear(EMBEDDING, WORDS)
            self.decoder.weight = self.embedding.weight

        def forward(self, ids, states):
            x, last = self.embedding(ids), []
            for layer, state in zip(self.layers, states):
                x, state = layer(x, state)
                last.append(tuple(t.detach() for t in state))
            return self.decoder(x.view(-1, EMBEDDING)), last

    model, states = Model(), [None] * 3
    given = load_start(start)
    ids, targets = given.pop('ids'), given.pop('targets')
    given['embedding.weight'] = given['decoder.weight']
    model.load_state_dict(given, strict=True)
    adam = torch.optim.Adam(model.parameters())

    def loss_of():
        nonlocal states
        logits, states = model(ids, states)
        return nn.functional.cross_entropy(logits, targets)

    def first():
        with torch.no_grad():
            return nn.functional.cross_entropy(model(ids, [None] * 3)[0], targets).item()

    def step():
        adam.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        adam.step()
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


def compare(program, threads, rounds):
    sides = both_sides(__file__, program, [threads], threads)
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
        print('{} threads, {:8}: median {:7.1f} ms, least {:7.1f} ms, processor time at least '
              '{:7.1f} ms; peak grows by {:6.1f} MB in the first step, {:6.1f} MB later; loss '
              '{:.3f}, {:.3f}'.format(threads, name, *(1e3 * t for t in figures[name][:3]),
                                      *(b / 1e6 for b in figures[name][3:]), first[name][2],
                                      later[name][2]))
    ratio = [a / b for a, b in zip(figures['PyTorch'], figures['adze'])]
    print(f'{threads} threads: adze is {ratio[0]:.2f} times as fast by medians, {ratio[1]:.2f} by '
          f'minima, {ratio[2]:.2f} by processor time; its peak grows by {1 / ratio[3]:.2f} of '
          f'PyTorch\'s in the first step, {1 / ratio[4]:.2f} later (by adze\'s own count '
          f'{first["adze"][3] / 1e6:.1f} and {later["adze"][3] / 1e6:.1f} MB)')


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(int(sys.argv[2]), sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    arguments = parser.parse_args()
    for threads in arguments.threads.split(','):
        compare(arguments.program, int(threads), arguments.rounds)


run_with('torch')
main()
