#!/usr/bin/env python3
"""Compares the residuals of adze's linear algebra with those of NumPy, which calls LAPACK.

    linalg_residuals.py LIBADZE [--sizes 0,1,2,3,31,32,33,200,1000] [--conditions 1,1e4,1e8,1e12]

Random batches in f64 with given condition numbers. A residual may be 10 times as large as that of LAPACK, or
10 roundings of the largest element. It needs NumPy 1.24 or newer; without it the script exits with 77.
"""

import argparse
import sys

try:
    import numpy as np
except ImportError:
    print('NumPy is missing')
    sys.exit(77)

from adze_linalg import Adze

EPS = 2.0 ** -52


def batch(random, items, rows, columns, condition):
    """Matrices whose singular values fall from 1 to 1 / condition, and these values."""
    k = min(rows, columns)
    left = np.linalg.qr(random.standard_normal((items, rows, k)))[0]
    right = np.linalg.qr(random.standard_normal((items, columns, k)))[0]
    values = condition ** -np.linspace(0, 1, k) if k > 1 else np.ones(k)
    return (left * values) @ right.swapaxes(-1, -2), values


def largest(a):
    return float(np.abs(a).max()) if a.size else 0.0


def of_factors(product, a, *orthogonal):
    """How far factors are from their matrix, and matrices from being orthogonal."""
    return [largest(product - a)] + [largest(q.swapaxes(-1, -2) @ q - np.eye(q.shape[-1])) for q in orthogonal]


def operators(adze, a, values, definite, b):
    """(name, residuals of adze, residuals of NumPy) for each operator."""
    n = a.shape[-1]
    size = max(largest(a), 1e-300)

    def ours(name, *arguments, more=0):
        with adze.scope():
            made = [adze.tensor(x) if isinstance(x, np.ndarray) else x for x in arguments]
            result = adze.call(name, *made, more=more)
            return [adze.array(t) for t in result] if more else adze.array(result)

    def solved(x):
        return [largest(a @ x - b) / max(largest(x) * size * n, 1e-300)]

    def inverse(y):
        return [largest(a @ y - np.eye(n)) / max(largest(y) * size * n, 1e-300)]

    yield 'solve', solved(ours('solve', a, b)), solved(np.linalg.solve(a, b))
    yield 'inv', inverse(ours('inv', a)), inverse(np.linalg.inv(a))
    low = ours('cholesky', definite, False)
    theirs = np.linalg.cholesky(definite)
    yield ('cholesky', of_factors(low @ low.swapaxes(-1, -2), definite),
           of_factors(theirs @ theirs.swapaxes(-1, -2), definite))
    q, r = ours('qr', a, more=1)
    p, s = np.linalg.qr(a)
    yield 'qr', of_factors(q @ r, a, q), of_factors(p @ s, a, p)
    w, v = ours('eigh', definite, False, more=1)
    x, y = np.linalg.eigh(definite)
    yield ('eigh', of_factors((v * w[..., None, :]) @ v.swapaxes(-1, -2), definite, v),
           of_factors((y * x[..., None, :]) @ y.swapaxes(-1, -2), definite, y))
    u, s, vh = ours('svd', a, more=3)
    p, t, qh = np.linalg.svd(a, full_matrices=False)
    yield ('svd', of_factors((u * s[..., None, :]) @ vh, a, u, vh.swapaxes(-1, -2)),
           of_factors((p * t[..., None, :]) @ qh, a, p, qh.swapaxes(-1, -2)))
    yield 'singular values', [largest(s - values)], [largest(t - values)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('library')
    parser.add_argument('--sizes', default='0,1,2,3,31,32,33,200,1000')
    parser.add_argument('--conditions', default='1,1e4,1e8,1e12')
    options = parser.parse_args()
    adze, random = Adze(options.library), np.random.default_rng(0)
    worst, failed = {}, 0
    for n in map(int, options.sizes.split(',')):
        items = 1 if n >= 500 else 3 if n >= 100 else 50
        for condition in map(float, options.conditions.split(',')):
            a, values = batch(random, items, n, n, condition)
            half = batch(random, items, n, n, condition ** 0.5)[0]
            b = random.standard_normal((items, n, 2))
            for name, ours, theirs in operators(adze, a, values, half @ half.swapaxes(-1, -2), b):
                ratio = max((x / max(y, EPS) for x, y in zip(ours, theirs)), default=0)
                worst[name] = max(worst.get(name, 0), ratio)
                if not ratio <= 10:
                    failed += 1
                    print(f'{name}, n = {n}, condition {condition:g}: {ours} compared with {theirs}')
    for name, ratio in worst.items():
        print(f'{name:16} at most {ratio:.2f} times LAPACK')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
