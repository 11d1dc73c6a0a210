#!/usr/bin/env python3
"""Compares single operators with PyTorch's, on one thread.

usage: torch_ops.py ADZE_BENCH [--size N] [--rounds N]

ADZE_BENCH and PyTorch take turns, round by round. The least time of each operator counts: forward without a
graph, and forward with backward. Prints how many times as fast as PyTorch adze is, the slowest first.
"""

import argparse
import json
import subprocess
import time
import types

from peers import run_with

run_with('torch')

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

OPERATORS = {
    'add': lambda i: i.a + i.b,
    'add_row': lambda i: i.a + i.row,
    'add_number': lambda i: i.a + 1,
    'sub': lambda i: i.a - i.b,
    'mul': lambda i: i.a * i.b,
    'mul_row': lambda i: i.a * i.row,
    'div': lambda i: i.a / i.positive,
    'neg': lambda i: -i.a,
    'addcmul': lambda i: torch.addcmul(i.a, i.b, i.positive, value=0.5),
    'maximum': lambda i: torch.maximum(i.a, i.b),
    'clamp': lambda i: i.a.clamp(-1, 1),
    'where': lambda i: torch.where(i.mask, i.a, i.b),
    'masked_fill': lambda i: i.a.masked_fill(i.mask, 0),
    'eq': lambda i: i.a == i.b,
    'gt_number': lambda i: i.a > 0,
    'relu': lambda i: functional.relu(i.a),
    'leaky_relu': lambda i: functional.leaky_relu(i.a, 0.01),
    'elu': lambda i: functional.elu(i.a),
    'gelu': lambda i: functional.gelu(i.a),
    'gelu_tanh': lambda i: functional.gelu(i.a, approximate='tanh'),
    'gelu_f64': lambda i: functional.gelu(i.wide),
    'silu': lambda i: functional.silu(i.a),
    'softplus': lambda i: functional.softplus(i.a),
    'glu': lambda i: functional.glu(i.a, 1),
    'tanh': lambda i: i.a.tanh(),
    'tanh_f64': lambda i: i.wide.tanh(),
    'tanh_transposed': lambda i: i.a.t().tanh(),
    'sigmoid': lambda i: i.a.sigmoid(),
    'logsigmoid': lambda i: functional.logsigmoid(i.a),
    'exp': lambda i: i.a.exp(),
    'exp_f64': lambda i: i.wide.exp(),
    'expm1': lambda i: i.a.expm1(),
    'log': lambda i: i.positive.log(),
    'log1p': lambda i: i.positive.log1p(),
    'erf': lambda i: i.a.erf(),
    'sin': lambda i: i.a.sin(),
    'cos': lambda i: i.a.cos(),
    'abs': lambda i: i.a.abs(),
    'square': lambda i: i.a.square(),
    'sqrt': lambda i: i.positive.sqrt(),
    'rsqrt': lambda i: i.positive.rsqrt(),
    'reciprocal': lambda i: i.positive.reciprocal(),
    'pow': lambda i: i.positive.pow(i.b),
    'pow_number': lambda i: i.positive.pow(1.7),
    'softmax': lambda i: i.a.softmax(1),
    'softmax_columns': lambda i: i.a.softmax(0),
    'softmax_f64': lambda i: i.wide.softmax(1),
    'log_softmax': lambda i: i.a.log_softmax(1),
    'logsumexp': lambda i: i.a.logsumexp(1),
    'sum': lambda i: i.a.sum(),
    'sum_rows': lambda i: i.a.sum(0),
    'sum_columns': lambda i: i.a.sum(1),
    'sum_i32': lambda i: i.integers.sum(),
    'mean': lambda i: i.a.mean(1),
    'var': lambda i: i.a.var(1),
    'var_rows': lambda i: i.a.var(0),
    'norm': lambda i: i.a.norm(),
    'prod': lambda i: i.positive.prod(1),
    'cumsum': lambda i: i.a.cumsum(1),
    'amax': lambda i: i.a.amax(1),
    'amax_rows': lambda i: i.a.amax(0),
    'argmax': lambda i: i.a.argmax(1),
    'max': lambda i: i.a.max(),
    'any': lambda i: i.mask.any(1),
    'topk': lambda i: i.a.topk(5, 1)[0],
    'layer_norm': lambda i: functional.layer_norm(i.a, (i.columns, ), i.row, i.row),
    'batch_norm': lambda i: functional.batch_norm(i.a, None, None, i.row, i.row, True),
    'mse_loss': lambda i: functional.mse_loss(i.a, i.aim),
    'l1_loss': lambda i: functional.l1_loss(i.a, i.aim),
    'huber_loss': lambda i: functional.huber_loss(i.a, i.aim),
    'cross_entropy': lambda i: functional.cross_entropy(i.a, i.ids),
    'nll_loss': lambda i: functional.nll_loss(i.a, i.ids),
    'bce_with_logits': lambda i: functional.binary_cross_entropy_with_logits(i.a, i.share),
    'kl_div': lambda i: functional.kl_div(i.a, i.share, reduction='sum'),
    'linear': lambda i: functional.linear(i.a, i.weight, i.row),
    'linear_relu': lambda i: functional.relu(functional.linear(i.a, i.weight, i.row)),
    'matmul': lambda i: i.a @ i.weight,
    'matmul_f64': lambda i: i.wide.t() @ i.wide,
    'outer': lambda i: torch.outer(i.row, i.row),
    'embedding': lambda i: functional.embedding(i.ids, i.weight),
    'index_select': lambda i: i.weight.index_select(0, i.ids),
    'gather': lambda i: i.a.gather(1, i.chosen),
    'scatter_add': lambda i: i.a.scatter_add(1, i.chosen, i.b),
    'one_hot': lambda i: functional.one_hot(i.ids, i.columns),
    'cat': lambda i: torch.cat((i.a, i.b), 1),
    'pad': lambda i: functional.pad(i.a, (1, 1)),
    'flip': lambda i: i.a.flip(1),
    'tril': lambda i: i.a.tril(),
    'repeat': lambda i: i.a.repeat(2, 1),
    'clone': lambda i: i.a.clone(),
    'transposed': lambda i: i.a.t().contiguous(),
    'every_other': lambda i: i.a[:, ::2].contiguous(),
    'to_f64': lambda i: i.a.double(),
    'to_bf16': lambda i: i.a.bfloat16(),
    'to_f16': lambda i: i.a.half(),
    'to_i32': lambda i: i.a.int(),
    'dropout': lambda i: functional.dropout(i.a, 0.1),
    'rand': lambda i: torch.rand(i.rows, i.columns),
    'rand_f64': lambda i: torch.rand(i.rows, i.columns, dtype=torch.float64),
    'randn': lambda i: torch.randn(i.rows, i.columns),
    'randint': lambda i: torch.randint(0, 10, (i.rows, i.columns)),
    'bernoulli': lambda i: torch.bernoulli(torch.full((i.rows, i.columns), 0.3)),
    'multinomial': lambda i: torch.multinomial(i.share, 1, True),
}


def inputs(size, columns=64):
    """What bench/operations.c gives its operators."""
    shape = rows, columns = size // columns, columns
    i = types.SimpleNamespace(
        rows=rows, columns=columns, a=torch.randn(shape), b=torch.randn(shape),
        positive=torch.rand(shape) + 0.1, wide=torch.randn(shape, dtype=torch.float64),
        weight=torch.randn(columns, columns), row=torch.randn(columns))
    i.leaves = [i.a, i.b, i.positive, i.wide, i.weight, i.row]
    for leaf in i.leaves:
        leaf.requires_grad_(True)
    i.share, i.aim = torch.rand(shape), torch.randn(shape)
    i.mask = i.aim > 0
    i.ids = torch.randint(0, columns, (rows,))
    i.chosen = torch.randint(0, columns, shape)
    i.integers = torch.randint(0, 100, shape, dtype=torch.int32)
    return i


def least(call, tries=20, calls=5):
    """Nanoseconds of a call."""
    best = float('inf')
    for _ in range(tries):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls * 1e9)
    return best


def torch_round(i):
    times = {}
    for name, operator in OPERATORS.items():
        y = operator(i)
        upstream = torch.ones_like(y.detach())

        def both():
            operator(i).backward(upstream)
            for leaf in i.leaves:
                leaf.grad = None

        with torch.no_grad():
            forward = least(lambda: operator(i))
        times[name] = forward, least(both) if y.requires_grad else forward
    return times


def adze_round(program, size):
    run = subprocess.run([program, 'op', 'all', '--size', str(size), '--json'], check=True,
                         stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line['op']: (line['forward_ns'], line['with_backward_ns']) for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program')
    parser.add_argument('--size', type=int, default=16384)
    parser.add_argument('--rounds', type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    i = inputs(options.size)
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(adze_round(options.program, options.size))
        theirs.append(torch_round(i))
    ratios = {}
    for name in OPERATORS:
        a, t = ([min(times[name][way] for times in side) for way in (0, 1)] for side in (ours, theirs))
        ratios[name] = t[0] / a[0], t[1] / a[1], a
    for name, (forward, both, times) in sorted(ratios.items(), key=lambda item: item[1][:2]):
        print(f'{name:16s} {forward:6.2f} forward ({times[0] / 1e3:.1f} us), '
              f'{both:6.2f} with backward ({times[1] / 1e3:.1f} us)')
    for way, name in enumerate(('forward', 'with backward')):
        values = [ratio[way] for ratio in ratios.values()]
        print(f'{name}: {len(values)} operators, {sum(v >= 1.3 for v in values)} at least 1.3 times as fast '
              f'as PyTorch, {sum(v < 1 for v in values)} slower')


if __name__ == '__main__':
    main()
