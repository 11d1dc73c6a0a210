#!/usr/bin/env python3
"""Compares the character model with PyTorch: a training step and a written token, in turn.

    torch_char_lm.py BENCH_CHAR_LM [--work small,large,wide,small-again,large-recomputing,token] [--threads 1,2] [--rounds 15]

PyTorch's side is the usual small GPT: one product for queries, keys and values, scaled_dot_product_attention (a
masked softmax in PyTorch 1, or with --plain), the table of tokens as head, AdamW and clipping. It starts from the weights of adze's side, and writes without a cache, as
the public code does. In the works with "again", adze has an activation checkpoint around each block and
PyTorch has none. Only the ratio means something, because other work on the machine slows down both. Memory is
the growth of the process's peak during a step.
"""

import argparse
import math
import os
import statistics
import sys
import time

from peers import run_with
from turns import both_sides, fresh_peak, load_start, process_bytes

VOCABULARY = 65
PLAIN = os.environ.get('ADZE_BENCH_PLAIN') == '1' # --plain, for both processes
SIZES = {'small': (4, 4, 128, 64, 12), 'large': (4, 8, 256, 256, 8), 'wide': (2, 12, 768, 256, 4),
         'token': (4, 4, 128, 64, 12)}


def torch_model(layers, heads, width, context):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.register_buffer('hidden', torch.ones(context, context, dtype=torch.bool).triu(1))

        def attend(self, x):
            b, t, _ = x.shape
            q, k, v = (part.view(b, t, heads, -1).transpose(1, 2)
                       for part in self.attn(x).split(width, 2))
            if PLAIN or not hasattr(F, 'scaled_dot_product_attention'): # PyTorch 1
                scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
                y = scores.masked_fill(self.hidden[:t, :t], -math.inf).softmax(-1) @ v
            else:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.attn_proj(y.transpose(1, 2).reshape(b, t, width))

        def forward(self, x):
            x = x + self.attend(self.ln_1(x))
            return x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate='tanh'))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
            self.h, self.ln_f = nn.ModuleList(Block() for _ in range(layers)), nn.LayerNorm(width)

        def forward(self, ids, last=False):
            x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
            for block in self.h:
                x = block(x)
            x = self.ln_f(x[:, -1:] if last else x)
            return x @ self.wte.weight.t()

    return Model()


def weights_of(start, layers):
    """adze's first weights under this model's names. GPT-2's products have theirs transposed."""
    given = load_start(start)
    named = {name + end: given.pop('transformer.' + name + end)
             for name, ends in (('wte', ['.weight']), ('wpe', ['.weight']),
                                ('ln_f', ['.weight', '.bias'])) for end in ends}
    for i in range(layers):
        for ours, theirs in (('ln_1', 'ln_1'), ('ln_2', 'ln_2'), ('attn', 'attn.c_attn'),
                             ('attn_proj', 'attn.c_proj'), ('fc', 'mlp.c_fc'),
                             ('proj', 'mlp.c_proj')):
            for end in ('.weight', '.bias'):
                tensor = given.pop(f'transformer.h.{i}.{theirs}{end}')
                named[f'h.{i}.{ours}{end}'] = tensor.t() if tensor.dim() == 2 else tensor
    return named


def torch_side(work, threads, start):
    """Answers lines on standard input as bench/char_lm.c does."""
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    layers, heads, width, context, batch = SIZES[work.removesuffix('-again').removesuffix('-recomputing')]
    model = torch_model(layers, heads, width, context)
    missing, unknown = model.load_state_dict(weights_of(start, layers), strict=False)
    assert not unknown and all(name.endswith('.hidden') for name in missing), (missing, unknown)
    adamw = torch.optim.AdamW(model.parameters(), 1e-3, (0.9, 0.99), weight_decay=0.1)
    i = torch.arange(batch * context)
    x, y = (((i + k) ** 2 * 7 % VOCABULARY).view(batch, context) for k in range(2))

    def first():
        with torch.no_grad():
            return F.cross_entropy(model(x).view(-1, VOCABULARY), y.reshape(-1)).item()

    def train():
        adamw.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x).view(-1, VOCABULARY), y.reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        adamw.step()
        return loss.item()

    text = x[:1].clone()

    def write():
        nonlocal text
        with torch.no_grad():
            p = model(text[:, -context:], last=True)[:, -1].softmax(-1)
            text = torch.cat((text[:, 1 - context:], torch.multinomial(p, 1)), 1)
        return 0

    count = 33 if work == 'token' else 1
    for line in sys.stdin:
        if line.startswith('first'):
            print(f'{first():.9g}', flush=True)
            continue
        memory = line.startswith('memory')
        if memory:
            adamw.zero_grad(set_to_none=True)
            before = fresh_peak()
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            loss = write() if work == 'token' else train()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        growth = f' {process_bytes("VmHWM") - before}' if memory else ''
        print(f'{seconds / count:.7f} {cpu / count:.7f} {loss:.4f}{growth}', flush=True)


def compare(program, work, threads, rounds):
    sides = both_sides(__file__, program, [work, threads], threads)
    for side in sides.values():
        side.step()
        side.step()
    memory = {name: side.step('memory')[3] for name, side in sides.items()}
    answers = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            answers[name].append(side.step())
    figures = {}
    for name, side in sides.items():
        side.end()
        wall, cpu, loss = zip(*answers[name])
        figures[name] = statistics.median(wall), min(wall), min(cpu)
        print('{}, {} threads, {:8}: median {:8.3f} ms, least {:8.3f} ms, processor time at least '
              '{:8.3f} ms; peak grows by {:6.1f} MB; loss at the end {:.3f}'.format(
                  work, threads, name, *(1e3 * t for t in figures[name]), memory[name] / 1e6,
                  loss[-1]))
    ratio = [a / b for a, b in zip(figures['PyTorch'], figures['adze'])]
    print(f'{work}, {threads} threads: adze is {ratio[0]:.2f} times as fast by medians, '
          f'{ratio[1]:.2f} by minima, {ratio[2]:.2f} by processor time', flush=True)


def main():
    if sys.argv[1:2] == ['--torch-side']:
        return torch_side(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--work', default='small,large,token')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--plain', action='store_true', help="PyTorch's attention as single operators")
    arguments = parser.parse_args()
    os.environ['ADZE_BENCH_PLAIN'] = '1' if arguments.plain else '0'
    for work in arguments.work.split(','):
        for threads in arguments.threads.split(','):
            compare(arguments.program, work, int(threads), arguments.rounds)


run_with('torch')
main()
