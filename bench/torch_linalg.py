#!/usr/bin/env python3
"""Compares linear algebra with NumPy, SciPy and PyTorch, as far as they are installed, call by call in turn.

    torch_linalg.py LIBADZE [--sizes 4,8,32,200,1000] [--dtypes f64,f32] [--only solve,inv] [--rounds 7]

One thread. Sizes up to 8 are batches of 10,000 matrices, up to 32 of 100, and larger ones are single. Small systems
have one right-hand side, those above 8 have as many as rows. Least squares and pseudo-inverses are of matrices with
twice as many rows as columns. A time is the median of the processor time that the calling thread takes, so that other
work on the machine counts as little as possible. The ratio is the best peer's time over adze's.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

os.environ.update({name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')})
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tests' / 'python'))

import numpy as np  # noqa: E402
from adze_linalg import Adze  # noqa: E402


def inputs(items, n, dtype):
    """The matrices that the calls below name."""
    random = np.random.default_rng(0)
    a = random.standard_normal((items, n, n))
    tall = random.standard_normal((items, 2 * n, n))
    definite = a @ a.swapaxes(-1, -2) / n + np.eye(n)
    made = {'a': a, 'definite': definite, 'upper': np.triu(a / n) + np.eye(n), 'tall': tall,
            'lower': np.linalg.cholesky(definite), 'b': random.standard_normal((items, n, 1 if n <= 8 else n)),
            'right': random.standard_normal((items, 2 * n, 1 if n <= 8 else n))}
    return {name: np.ascontiguousarray(value, dtype=dtype) for name, value in made.items()}


def calls_of_torch(x):
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    linalg, x = torch.linalg, {name: torch.from_numpy(value) for name, value in x.items()}
    a, definite, upper, tall, lower, b, right = x.values()
    return {'solve': lambda: linalg.solve(a, b), 'inv': lambda: linalg.inv(a), 'det': lambda: linalg.det(a),
            'slogdet': lambda: linalg.slogdet(a), 'cholesky': lambda: linalg.cholesky(definite),
            'cholesky_solve': lambda: torch.cholesky_solve(b, lower),
            'solve_triangular': lambda: linalg.solve_triangular(upper, b, upper=True),
            'qr': lambda: linalg.qr(a), 'lstsq': lambda: linalg.lstsq(tall, right, driver='gels'),
            'eigh': lambda: linalg.eigh(definite), 'svd': lambda: linalg.svd(a, full_matrices=False),
            'pinv': lambda: linalg.pinv(tall), 'matrix_exp': lambda: linalg.matrix_exp(a)}


def calls_of_numpy(x):
    linalg, (a, definite, _, tall, _, b, _) = np.linalg, x.values()
    return {'solve': lambda: linalg.solve(a, b), 'inv': lambda: linalg.inv(a), 'det': lambda: linalg.det(a),
            'slogdet': lambda: linalg.slogdet(a), 'cholesky': lambda: linalg.cholesky(definite),
            'qr': lambda: linalg.qr(a), 'eigh': lambda: linalg.eigh(definite),
            'svd': lambda: linalg.svd(a, full_matrices=False), 'pinv': lambda: linalg.pinv(tall)}


def calls_of_scipy(x):
    """What NumPy lacks; single matrices only, because SciPy goes through a batch in Python."""
    try:
        import scipy.linalg as linalg
    except ImportError:
        return {}
    a, _, upper, tall, lower, b, right = (value[0] for value in x.values())
    if len(x['a']) > 1:
        return {}
    return {'solve_triangular': lambda: linalg.solve_triangular(upper, b, check_finite=False),
            'cholesky_solve': lambda: linalg.cho_solve((lower, True), b, check_finite=False),
            'lstsq': lambda: linalg.lstsq(tall, right, check_finite=False, lapack_driver='gelsy'),
            'matrix_exp': lambda: linalg.expm(a)}


def calls_of_adze(adze, x):
    """The tensors are made in a scope that stays open; each call has one of its own."""
    a, definite, upper, tall, lower, b, right = map(adze.tensor, x.values())

    def call(name, *arguments, more=0):
        with adze.scope():
            adze.call(name, *arguments, more=more)

    return {'solve': lambda: call('solve', a, b), 'inv': lambda: call('inv', a), 'det': lambda: call('det', a),
            'slogdet': lambda: call('slogdet', a, more=2), 'cholesky': lambda: call('cholesky', definite, False),
            'cholesky_solve': lambda: call('cholesky_solve', b, lower, False),
            'solve_triangular': lambda: call('solve_triangular', upper, b, True, None),
            'qr': lambda: call('qr', a, more=1), 'lstsq': lambda: call('lstsq', tall, right),
            'eigh': lambda: call('eigh', definite, False, more=1), 'svd': lambda: call('svd', a, more=3),
            'pinv': lambda: call('pinv', tall, -1.0), 'matrix_exp': lambda: call('matrix_exp', a)}


def seconds(function):
    begin = time.thread_time()
    function()
    return time.thread_time() - begin


def compare(adze, n, dtype, only, rounds):
    items = 10000 if n <= 8 else 100 if n <= 32 else 1
    x = inputs(items, n, dtype)
    with adze.scope():
        peers = {'NumPy': calls_of_numpy(x), 'SciPy': calls_of_scipy(x), 'PyTorch': calls_of_torch(x)}
        for name, function in calls_of_adze(adze, x).items():
            if only and name not in only:
                continue
            sides = {'adze': function, **{who: peer[name] for who, peer in peers.items() if name in peer}}
            times = [[seconds(side) for side in sides.values()] for _ in range(rounds + 1)][1:]
            own, *others = (statistics.median(column) for column in zip(*times))
            texts = ', '.join(f'{who} {t * 1e3:.3f}' for who, t in zip(list(sides)[1:], others))
            ratio = min(others) / own if others else float('nan')
            print(f'{dtype.__name__} {items} x {n} x {n} {name:16} {own * 1e3:9.3f} ms, {ratio:5.2f} ({texts})',
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library')
    parser.add_argument('--sizes', default='4,8,32,200,1000')
    parser.add_argument('--dtypes', default='f64,f32')
    parser.add_argument('--only', default='')
    parser.add_argument('--rounds', type=int, default=7)
    options = parser.parse_args()
    adze = Adze(options.library)
    adze.lib.adz_set_num_threads(1)
    for dtype in options.dtypes.split(','):
        for n in map(int, options.sizes.split(',')):
            compare(adze, n, {'f64': np.float64, 'f32': np.float32}[dtype],
                    options.only.split(',') if options.only else [], options.rounds)


if __name__ == '__main__':
    main()
