#!/usr/bin/env python3
"""Compares linear algebra with NumPy, and with PyTorch where it is installed, call by call in turn.

    torch_linalg.py LIBADZE [--sizes 4,8,32,200,1000] [--rounds 7]

One thread, f64. Sizes up to 8 are batches of 10,000 matrices, larger ones of 100 or one. Only the ratio means
something, because other work on the machine slows all of them down: it is the best peer's median time over
adze's.
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


def calls_of_torch(a, definite, b):
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    ta, td, tb = map(torch.from_numpy, (a, definite, b))
    linalg = torch.linalg
    return {'solve': lambda: linalg.solve(ta, tb), 'inv': lambda: linalg.inv(ta),
            'slogdet': lambda: linalg.slogdet(ta), 'cholesky': lambda: linalg.cholesky(td),
            'qr': lambda: linalg.qr(ta), 'eigh': lambda: linalg.eigh(td),
            'svd': lambda: linalg.svd(ta, full_matrices=False)}


def calls_of_numpy(a, definite, b):
    linalg = np.linalg
    return {'solve': lambda: linalg.solve(a, b), 'inv': lambda: linalg.inv(a),
            'slogdet': lambda: linalg.slogdet(a), 'cholesky': lambda: linalg.cholesky(definite),
            'qr': lambda: linalg.qr(a), 'eigh': lambda: linalg.eigh(definite),
            'svd': lambda: linalg.svd(a, full_matrices=False)}


def calls_of_adze(adze, a, definite, b):
    """The tensors are made in a scope that stays open; each call has one of its own."""
    ta, td, tb = (adze.tensor(x) for x in (a, definite, b))

    def call(name, *arguments, more=0):
        with adze.scope():
            adze.call(name, *arguments, more=more)

    return {'solve': lambda: call('solve', ta, tb), 'inv': lambda: call('inv', ta),
            'slogdet': lambda: call('slogdet', ta, more=1), 'cholesky': lambda: call('cholesky', td, False),
            'qr': lambda: call('qr', ta, more=1), 'eigh': lambda: call('eigh', td, False, more=1),
            'svd': lambda: call('svd', ta, more=2)}


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library')
    parser.add_argument('--sizes', default='4,8,32,200,1000')
    parser.add_argument('--rounds', type=int, default=7)
    options = parser.parse_args()
    adze, random = Adze(options.library), np.random.default_rng(0)
    adze.lib.adz_set_num_threads(1)
    for n in map(int, options.sizes.split(',')):
        items = 10000 if n <= 8 else 100 if n <= 32 else 1
        a = random.standard_normal((items, n, n))
        definite = a @ a.swapaxes(-1, -2) + np.eye(n)
        b = random.standard_normal((items, n, 1 if n <= 8 else n))
        with adze.scope():
            ours = calls_of_adze(adze, a, definite, b)
            peers = [calls_of_numpy(a, definite, b), calls_of_torch(a, definite, b)]
            for name, function in ours.items():
                sides = [function] + [peer[name] for peer in peers if name in peer]
                times = [[seconds(side) for side in sides] for _ in range(options.rounds + 1)][1:]
                own, *others = (statistics.median(column) for column in zip(*times))
                print(f'{items} x {n} x {n} {name:9} {own * 1e3:9.3f} ms, {min(others) / own:5.2f}', flush=True)


if __name__ == '__main__':
    main()
