#!/usr/bin/env python3
"""Compares the gradients of adze's linear algebra with those of PyTorch of today, in f64.

    linalg_gradients.py LIBADZE [--sizes 0,1,2,3,31,32,33,200] [--seed 0]

The loss is a weighted sum of the results. Vectors enter it by their squares, because their signs are a convention.
The largest difference counts in units of the largest gradient; 1e-10 is allowed. Needs NumPy and PyTorch; without
them the script exits with 77.
"""

import argparse
import sys

try:
    import numpy as np
    import torch
except ImportError:
    print('NumPy or PyTorch is missing')
    sys.exit(77)

from adze_linalg import Adze

ALLOWED = 1e-10


def cases(random, n):
    """(name, inputs, adze's results, PyTorch's results, which of them are vectors)."""
    items, columns = (2, 3) if n < 100 else (1, 2)
    a = random.standard_normal((items, n, n)) / max(n, 1) ** 0.5 + 2 * np.eye(n)
    b = random.standard_normal((items, n, columns))
    tall = random.standard_normal((items, n + 3, n))
    apart = np.linalg.qr(random.standard_normal((items, n, n)))[0] if n else a
    symmetric = (apart * np.linspace(1, 2, n)) @ apart.swapaxes(-1, -2)
    spread = (apart * np.linspace(1, 2, n)) @ np.linalg.qr(random.standard_normal((items, n, n)))[0] if n else a
    linalg = torch.linalg
    yield 'solve', (a, b), lambda d, a, b: [d.call('solve', a, b)], lambda a, b: [linalg.solve(a, b)], ()
    yield ('solve_triangular', (a, b), lambda d, a, b: [d.call('solve_triangular', a, b, True, None)],
           lambda a, b: [linalg.solve_triangular(a, b, upper=True)], ())
    yield ('cholesky', (symmetric,), lambda d, a: [d.call('cholesky', a, False)],
           lambda a: [linalg.cholesky((a + a.mT) / 2)], ())
    yield ('cholesky_solve', (b, np.linalg.cholesky(symmetric) if n else symmetric),
           lambda d, b, l: [d.call('cholesky_solve', b, l, False)],
           lambda b, l: [torch.cholesky_solve(b, l)], ())
    yield 'inv', (a,), lambda d, a: [d.call('inv', a)], lambda a: [linalg.inv(a)], ()
    yield 'det', (a / 2,), lambda d, a: [d.call('det', a)], lambda a: [linalg.det(a)], ()
    yield 'slogdet', (a,), lambda d, a: d.call('slogdet', a, more=2)[1:], lambda a: [linalg.slogdet(a)[1]], ()
    yield 'qr', (tall,), lambda d, a: d.call('qr', a, more=1), lambda a: list(linalg.qr(a)), (0, 1)
    yield ('lstsq', (tall, np.concatenate([b, b[:, :3]], 1) if n > 2 else random.standard_normal((items, n + 3, 2))),
           lambda d, a, b: [d.call('lstsq', a, b)], lambda a, b: [linalg.pinv(a) @ b], ())
    yield ('eigh', (symmetric,), lambda d, a: d.call('eigh', a, False, more=1),
           lambda a: list(linalg.eigh((a + a.mT) / 2)), (1,))
    yield ('svd', (spread,), lambda d, a: d.call('svd', a, more=3),
           lambda a: list(linalg.svd(a, full_matrices=False)), (0, 2))
    yield 'pinv', (tall,), lambda d, a: [d.call('pinv', a, -1.0)], lambda a: [linalg.pinv(a)], ()
    yield 'matrix_exp', (a,), lambda d, a: [d.call('matrix_exp', a)], lambda a: [linalg.matrix_exp(a)], ()
    yield 'matrix_power', (a,), lambda d, a: [d.call('matrix_power', a, 5)], lambda a: [linalg.matrix_power(a, 5)], ()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('libadze')
    parser.add_argument('--sizes', default='0,1,2,3,31,32,33,200')
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args()
    adze, random, failed = Adze(options.libadze), np.random.default_rng(options.seed), 0
    for n in map(int, options.sizes.split(',')):
        for name, inputs, ours, theirs, vectors in cases(random, n):
            wanted = [torch.tensor(x, requires_grad=True) for x in inputs]
            results = theirs(*wanted)
            weights = [random.standard_normal(tuple(r.shape)) for r in results]
            loss = sum((torch.tensor(w) * (r * r if i in vectors else r)).sum()
                       for i, (w, r) in enumerate(zip(weights, results)))
            want = torch.autograd.grad(loss, wanted)
            with adze.scope():
                given = [adze.call('requires_grad_', adze.tensor(x), True) for x in inputs]
                made = [adze.call('square', t) if i in vectors else t for i, t in enumerate(ours(adze, *given))]
                got = adze.gradients(made, [adze.tensor(w) for w in weights], given)
            for k, (g, w) in enumerate(zip(got, want)):
                w = w.numpy()
                if name in ('cholesky', 'eigh'):  # a symmetric input has many gradients that are alike
                    g, w = (g + g.swapaxes(-1, -2)) / 2, (w + w.swapaxes(-1, -2)) / 2
                if name == 'cholesky_solve' and k == 1:  # the other triangle is not read, but PyTorch gives it a gradient
                    w = np.tril(w)
                size = np.abs(w).max() if w.size else 0
                apart = np.abs(g - w).max() / max(size, 1e-300) if w.size else 0
                failed += not apart <= ALLOWED
                print(f"{'ok  ' if apart <= ALLOWED else 'APART'} n={n} {name} input {k}: {apart:.1e}", flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
