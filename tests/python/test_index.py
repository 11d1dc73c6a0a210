#!/usr/bin/env python3
"""Operators of indices, of order and of matrices against PyTorch, with random options in f64: values, first and second
derivatives, special values, ties, empty tensors and scales. Exits with 77 where there is no PyTorch 2.15.

usage: test_index.py LIBADZE.so ADZE.json [CASES]
"""

import ctypes
import math
import random
import sys
import warnings

import test_volumes  # exits with 77 where there is no torch
import torch
from torch.nn.utils import rnn
from test_volumes import Comparison, Side, special

if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 15):
    print(f"skipped: PyTorch {torch.__version__} is older than 2.15")
    sys.exit(77)

NAN, INF = float("nan"), float("inf")


def flip():
    return random.random() < 0.5


def sizes(low, high, least=1):
    """Sizes of a tensor; few of them are 0 where `least` is 0."""
    return [random.randint(least, 5) if random.random() < 0.2 else random.randint(1, 5)
            for _ in range(random.randint(low, high))]


def leaf(*shape):
    return torch.randn(shape, dtype=torch.float64) * random.choice([1e-3, 1, 1, 30])


def ties(*shape):
    """Few different numbers, and perhaps special ones."""
    x = torch.randint(-2, 3, shape).double()
    return special(x) if flip() else x


def dim_of(x):
    return random.randint(-x.dim(), x.dim() - 1) if x.dim() > 0 else random.choice([0, -1])


def orders_of(highest, count):
    """Of one element many functions are linear: their second derivatives are what rounding leaves."""
    return min(highest, 2 if count > 1 else 1)


class Index(Comparison):
    def __init__(self, side):
        super().__init__(side)
        self.lib = side.lib

    def dims(self, *numbers):
        return self.lib.adz_dims_of(len(numbers), (ctypes.c_int * max(1, len(numbers)))(*numbers))

    def outputs(self, n):
        return (self.side.tensor * n)()

    def at(self, k):
        return ctypes.cast(ctypes.byref(k), ctypes.POINTER(self.side.tensor))


# ---- indices ------------------------------------------------------------------------------------


def indexed(c):
    """x, a dimension, an index that fits, and the sizes of what it takes: sometimes more than the index has."""
    shape = sizes(1, 3)
    dim = random.randint(-len(shape), len(shape) - 1)
    at = [random.randint(0 if random.random() < 0.05 else 1, s) for s in shape]
    at[dim] = random.randint(1, 6)
    index = torch.randint(0, shape[dim], at)
    return shape, dim, index, [s + random.randint(0, 1) for s in at]


def no_twice(shape, dim, at):
    """An index without equal positions along dim: of what is lost PyTorch's gradient is another one."""
    at[dim] = min(at[dim], shape[dim])
    return torch.rand(*at[:dim % len(at)], shape[dim], *at[dim % len(at) + 1:]).argsort(dim).narrow(dim, 0, at[dim])


def scatters(c, lib):
    shape, dim, index, more = indexed(c)
    c.run(f"scatter {shape} {dim}, twice", lambda x, s: x.scatter(dim, index, s[tuple(map(slice, index.shape))]),
          lambda x, s: lib.adz_scatter(x, dim, c.side.give(index), s), [special(leaf(*shape)), leaf(*more)], [], 0)
    index = no_twice(shape, dim, list(index.shape))
    # PyTorch has no gradient of a source that is larger than the index.
    c.run(f"scatter {shape} {dim}", lambda x, s: x.scatter(dim, index, s),
          lambda x, s: lib.adz_scatter(x, dim, c.side.give(index), s), [leaf(*shape), leaf(*index.shape)])


def reductions(c, lib):
    shape, dim, index, more = indexed(c)
    for which, name in enumerate(["sum", "prod", "mean", "amax", "amin"]):
        self_too = flip()

        def theirs(x, s):
            return x.scatter_reduce(dim, index, s, name, include_self=self_too)

        def ours(x, s):
            return lib.adz_scatter_reduce(x, dim, c.side.give(index), s, which, self_too)
        # PyTorch's gradients want a source of the size of the index.
        c.run(f"scatter_reduce {name} {self_too} {shape} {dim}", theirs, ours,
              [torch.randn(shape).double(), torch.randn(index.shape).double()], [0, 1], 2 if which != 1 else 1)
        x, s = ties(*shape), ties(*more)
        c.run(f"scatter_reduce {name} {self_too} {shape} {dim} of ties", theirs, ours, [x, s], [], 0)
        x, s = torch.randint(-2, 3, shape).double(), torch.randint(-2, 3, index.shape).double()
        if self_too or which < 3:  # without x, PyTorch gives a share to an x that equals the extreme
            c.run(f"scatter_reduce {name} {self_too} {shape} {dim} gradients of ties", theirs, ours, [x, s], [0, 1], 1)


def lists(c, lib):
    x = leaf(*sizes(1, 4))
    dim, n = dim_of(x), random.randint(0, 6)
    alpha, value = random.choice([1., -2.5]), random.choice([0., 3.5, NAN])
    shape = list(x.shape)
    index = torch.randint(0, shape[dim], (n,) if n != 1 or flip() else ())
    shape[dim] = n
    s = leaf(*shape)
    give = c.side.give
    what = f"{tuple(x.shape)} {dim} {index.tolist()}"
    c.run(f"index_add {alpha} {what}", lambda x, s: x.index_add(dim, index, s, alpha=alpha),
          lambda x, s: lib.adz_index_add(x, dim, give(index), s, alpha), [x, s])
    c.run(f"index_add of special {alpha} {what}", lambda x, s: x.index_add(dim, index, s, alpha=alpha),
          lambda x, s: lib.adz_index_add(x, dim, give(index), s, alpha), [special(x), special(s)], [0, 1], 1)
    c.run(f"index_fill {value} {what}", lambda x: x.index_fill(dim, index, value),
          lambda x: lib.adz_index_fill(x, dim, give(index), value), [x])
    c.run(f"index_copy twice {what}", lambda x, s: x.index_copy(dim, index, s),
          lambda x, s: lib.adz_index_copy(x, dim, give(index), s), [x, s], [], 0)
    once = torch.randperm(x.shape[dim])[:n]
    part = s.narrow(dim, 0, once.numel())
    c.run(f"index_copy {what}", lambda x, s: x.index_copy(dim, once, s),
          lambda x, s: lib.adz_index_copy(x, dim, give(once), s), [x, part])
    index = torch.randint(0, x.numel(), sizes(0, 3, 0))
    c.run(f"take {tuple(x.shape)} {tuple(index.shape)}", lambda x: x.take(index),
          lambda x: lib.adz_take(x, give(index)), [x])


# ---- order --------------------------------------------------------------------------------------


def ordered(c, lib):
    x = leaf(*sizes(0, 3))
    dim, keep, out = dim_of(x), flip(), c.outputs(1)
    n = x.shape[dim] if x.dim() else 1
    k = random.randint(1, n)

    def both(call):
        def ours(x):
            return call(x), out[0]
        return ours
    kth = both(lambda x: lib.adz_kthvalue(x, k, dim, keep, out))
    mode = both(lambda x: lib.adz_mode(x, dim, keep, out))
    c.run(f"kthvalue {k} {tuple(x.shape)} {dim}", lambda x: tuple(x.kthvalue(k, dim, keep)), kth, [x])
    c.run(f"mode {tuple(x.shape)} {dim}", lambda x: tuple(x.mode(dim, keep)), mode, [x])
    t = ties(*x.shape)
    c.run(f"kthvalue of ties {k} {dim} {t.tolist()}", lambda x: x.kthvalue(k, dim, keep)[0],
          lambda x: lib.adz_kthvalue(x, k, dim, keep, None), [t], [], 0)
    t = torch.randint(-2, 3, x.shape).double()
    c.run(f"mode of ties {dim} {t.tolist()}", lambda x: x.mode(dim, keep)[0],
          lambda x: lib.adz_mode(x, dim, keep, None), [t], [], 0)
    for name in ("cummax", "cummin"):
        ours = both(lambda x, f=getattr(lib, "adz_" + name): f(x, dim, out))
        theirs = lambda x, f=getattr(torch, name): tuple(f(x, dim))  # noqa: E731
        for data, orders in ((x, 2), (t, 1), (ties(*x.shape), 1), (leaf(*sizes(1, 3, 0)), 1)):
            if data.dim() == x.dim():
                c.run(f"{name} {dim} {data.tolist()}", theirs, ours, [data], [0], orders)


def counted(c, lib):
    x = leaf(*sizes(0, 2, 0))
    bins, low = random.randint(1, 9), random.choice([0., -1.5])
    high = random.choice([low, low + 2.25])
    if x.numel() or low != high:
        c.run(f"histc {bins} {low} {high}", lambda x: torch.histc(x, bins, low, high),
              lambda x: lib.adz_histc(x, bins, low, high), [x], [], 0)
    y = torch.where(torch.rand(x.shape) < 0.2, NAN, x)
    c.run(f"histc of NaN {bins}", lambda x: torch.histc(x, bins, -1, 2), lambda x: lib.adz_histc(x, bins, -1, 2), [y],
          [], 0)
    t, out = torch.randint(0, 3, sizes(0, 3, 0)).double(), c.outputs(2)
    t = torch.where(torch.rand(t.shape) < 0.1, random.choice([NAN, INF, -0.0]), t)
    one, two = (ctypes.pointer(c.side.tensor.from_buffer(out, k * ctypes.sizeof(c.side.tensor))) for k in range(2))

    def all_of(call):
        def ours(x):
            return call(x), out[0], out[1]
        return ours
    c.run(f"unique_consecutive {t.tolist()}", lambda x: torch.unique_consecutive(x, True, True),
          all_of(lambda x: lib.adz_unique_consecutive(x, one, two)), [t], [], 0)
    t = torch.randint(0, 2, sizes(1, 3)).double()
    dim = dim_of(t)
    c.run(f"unique_consecutive {dim} {t.tolist()}", lambda x: torch.unique_consecutive(x, True, True, dim),
          all_of(lambda x: lib.adz_unique_consecutive_dim(x, dim, one, two)), [t], [], 0)


def sums(c, lib):
    x = leaf(*sizes(0, 3, 0))
    dim = dim_of(x)
    moderate = torch.randn(x.shape).double() * random.choice([1, 1, 5])
    c.run(f"logcumsumexp {tuple(x.shape)} {dim}", lambda x: x.logcumsumexp(dim), lambda x: lib.adz_logcumsumexp(x, dim),
          [moderate], [0], orders_of(2, moderate.shape[dim] if moderate.dim() else 1))
    c.run(f"logcumsumexp special {dim} {x.tolist()}", lambda x: x.logcumsumexp(dim),
          lambda x: lib.adz_logcumsumexp(x, dim), [special(x * 30)], [], 0)
    x = torch.where(torch.rand(x.shape) < 0.2, random.choice([NAN, NAN, INF, -0.0]), x)
    dims, keep = random.sample(range(x.dim()), random.randint(0, x.dim())), flip()
    if flip():
        dims = [d - x.dim() for d in dims]
    c.run(f"nansum {dims} {keep} {x.tolist()}", lambda x: x.nansum(dims or None, keep),
          lambda x: lib.adz_nansum(x, c.dims(*dims), keep), [x])


# ---- matrices -----------------------------------------------------------------------------------


def statistics(c, lib):
    give, n = c.side.give, random.randint(2, 6)
    x = leaf(*([random.randint(1, 4)] if flip() else []), n)
    f = torch.randint(1, 4, (n,)) if flip() else None
    a = torch.rand(n, dtype=torch.float64) + 0.1 if flip() else None
    correction = random.choice([0, 1])
    if a is not None and n == 2:
        a = None  # weights of two observations do not matter: their derivatives are what rounding leaves
    given = [x] if a is None else [x, a]
    none = lib.adz_none()
    c.run(f"cov {tuple(x.shape)} {correction} {f} {a}",
          lambda x, a=None: torch.cov(x, correction=correction, fweights=f, aweights=a),
          lambda x, a=none: lib.adz_cov(x, none if f is None else give(f), a, correction), given)
    # A correlation of one variable is 1, and its derivatives are what rounding leaves.
    if x.dim() == 2 and len(x) > 1 and n > 2:
        c.run(f"corrcoef {tuple(x.shape)}", torch.corrcoef, lib.adz_corrcoef, [x])
    p = random.choice([0., 1., 1.5, 2., 3., INF])
    a, b = leaf(*sizes(1, 3)), leaf(1)
    c.run(f"dist {p} {tuple(a.shape)}", lambda a, b: torch.dist(a, b, p), lambda a, b: lib.adz_dist(a, b, p), [a, b],
          [0, 1],
          orders_of(0 if p == 0 else 1 if p == INF else 2, a.numel()))
    x = leaf(random.randint(0, 5), random.randint(1, 4))
    c.run(f"pdist {p} {tuple(x.shape)}", lambda x: torch.nn.functional.pdist(x, p), lambda x: lib.adz_pdist(x, p), [x],
          [0], 1)
    a = leaf(*sizes(1, 3))
    b = leaf(*[s if flip() or a.dim() == 1 else 1 for s in a.shape])  # PyTorch has no gradient of [n] with [1]
    dim = dim_of(a)
    c.run(f"vecdot {tuple(a.shape)} {tuple(b.shape)} {dim}", lambda a, b: torch.linalg.vecdot(a, b, dim=dim),
          lambda a, b: lib.adz_vecdot(a, b, dim), [a, b])
    dims, keep = random.sample(range(a.dim()), random.randint(1, a.dim())), flip()
    p = random.choice([0., 0.5, 1., 2., 2.5, 3., -1., INF, -INF])
    c.run(f"vector_norm {p} {dims} {tuple(a.shape)}", lambda x: torch.linalg.vector_norm(x, p, dims, keep),
          lambda x: lib.adz_vector_norm(x, p, c.dims(*dims), keep), [a], [0],
          orders_of(0 if p == 0 else 1 if p in (INF, -INF) else 2, math.prod(a.shape[d] for d in dims)))
    c.run(f"vector_norm {p} {dims} special", lambda x: torch.linalg.vector_norm(x, p, dims, keep),
          lambda x: lib.adz_vector_norm(x, p, c.dims(*dims), keep),
          [torch.where(torch.rand(a.shape) < 0.2, random.choice([NAN, INF, -0.0]), a)], [], 0)


def square(n, lead):
    return torch.randn(*lead, n, n, dtype=torch.float64) + 2 * torch.eye(n, dtype=torch.float64)


def solved(c, lib):
    m, n, lead = random.randint(1, 5), random.randint(1, 5), sizes(0, 2)
    a, out = torch.randn(*lead, m, n, dtype=torch.float64), c.outputs(3)
    parts = [ctypes.pointer(c.side.tensor.from_buffer(out, k * ctypes.sizeof(c.side.tensor))) for k in range(3)]

    def factors(x):
        lib.adz_lu(x, *parts)
        return out[2], out[0], out[1]

    def factor(x):
        return lib.adz_lu_factor(x, parts[0]), out[0]

    def lu(x):
        p, low, up = torch.linalg.lu(x)
        return up, p, low

    def lu_factor(x):
        y, p = torch.linalg.lu_factor(x)
        return y, p.long()
    scale = random.choice([1e-100, 1, 1, 1e100])
    c.run(f"lu {tuple(a.shape)} {scale}", lu, factors, [a * scale], [0], 2 if scale == 1 else 1)
    c.run(f"lu_factor {tuple(a.shape)} {scale}", lu_factor, factor, [a * scale], [0], 2 if scale == 1 else 1)
    a = square(n, lead)
    left, adjoint = flip(), flip()
    b = torch.randn(*lead, *((n, m) if left else (m, n)), dtype=torch.float64)
    y, p = torch.linalg.lu_factor(a)
    o = lib.options("adz_lu_solve_options", left=left, adjoint=adjoint)
    c.run(f"lu_solve {tuple(b.shape)} {left} {adjoint}",
          lambda y, b: torch.linalg.lu_solve(y, p, b, left=left, adjoint=adjoint),
          lambda y, b: lib.adz_lu_solve(y, c.side.give(p.long()), b, o), [y, b])


def spectra(c, lib):
    m, n, lead = random.randint(1, 5), random.randint(1, 5), sizes(0, 1)
    a, upper, keep = torch.randn(*lead, m, n, dtype=torch.float64), flip(), flip()
    c.run(f"svdvals {tuple(a.shape)}", torch.linalg.svdvals, lib.adz_svdvals, [a * random.choice([1e-3, 1, 1e3])])
    s = square(n, lead)
    s = s + s.mT
    c.run(f"eigvalsh {tuple(s.shape)} {upper}", lambda x: torch.linalg.eigvalsh(x, "U" if upper else "L"),
          lambda x: lib.adz_eigvalsh(x, upper), [s])
    which, ord = random.choice(list(enumerate(["fro", "nuc", INF, -INF, 1, -1, 2, -2])))
    dims = random.sample(range(a.dim()), 2)
    if flip():
        dims = [d - a.dim() for d in dims]
    c.run(f"matrix_norm {ord} {dims} {tuple(a.shape)}", lambda x: torch.linalg.matrix_norm(x, ord, dims, keep),
          lambda x: lib.adz_matrix_norm(x, which, c.dims(*dims), keep), [a])
    s = a if ord in (2, -2) and flip() else square(n, lead)
    if min(s.shape[-2:]) == 1:
        return  # 1, and its derivatives are what rounding leaves
    c.run(f"cond {ord} {tuple(s.shape)}", lambda x: torch.linalg.cond(x, ord), lambda x: lib.adz_linalg_cond(x, which),
          [s], [0], 2 if ord in (2, -2) else 0)
    if ord not in (2, -2):  # PyTorch's own derivative is an error about a change in place

        def norms(x):
            return torch.linalg.matrix_norm(x, ord) * torch.linalg.matrix_norm(torch.linalg.inv(x), ord)
        c.run(f"cond {ord} {tuple(s.shape)}, derivatives", norms, lambda x: lib.adz_linalg_cond(x, which), [s])


# ---- shapes -------------------------------------------------------------------------------------


def shapes(c, lib):
    s, x = lib.shape, special(leaf(*sizes(1, 4, 0)))
    offset, n = random.randint(-3, 3), x.dim() + 1
    one, two = random.sample(range(n), 2)
    one, two = random.choice([one, one - n]), random.choice([two, two - n])
    c.run(f"diag_embed {offset} {one} {two}", lambda x: torch.diag_embed(x, offset, one, two),
          lambda x: lib.adz_diag_embed(x, offset, one, two), [x])
    copies = [random.randint(0 if random.random() < 0.1 else 1, 3) for _ in range(random.randint(0, 5))]
    c.run(f"tile {copies} {tuple(x.shape)}", lambda x: x.tile(copies), lambda x: lib.adz_tile(x, s(*copies)), [x])
    wanted = [random.randint(1, 3) for _ in range(random.randint(0, 2))] + [
        random.randint(0, 4) if k == 1 else k for k in x.shape]
    c.run(f"broadcast_to {wanted} {tuple(x.shape)}", lambda x: x.broadcast_to(wanted),
          lambda x: lib.adz_broadcast_to(x, s(*wanted)), [x])
    if x.dim() > 1:
        k, dims = random.randint(-5, 5), random.sample(range(x.dim()), 2)
        dims = [random.choice([d, d - x.dim()]) for d in dims]
        c.run(f"rot90 {k} {dims}", lambda x: x.rot90(k, dims), lambda x: lib.adz_rot90(x, k, c.dims(*dims)), [x])
    k = random.randint(1, x.dim())
    a, b = ([random.choice([d, d - x.dim()]) for d in random.sample(range(x.dim()), k)] for _ in range(2))
    c.run(f"movedim {a} {b}", lambda x: x.movedim(a, b), lambda x: lib.adz_movedim(x, c.dims(*a), c.dims(*b)), [x])


def sequences(c, lib):
    rest, first, left, value = sizes(0, 2), flip(), flip(), random.choice([0., -2.5, NAN])
    parts = [leaf(random.randint(1, 5), *rest) for _ in range(random.randint(1, 4))]
    n = len(parts)
    c.run(f"pad_sequence {n} {first} {left} {value}",
          lambda *x: rnn.pad_sequence(list(x), first, value, "left" if left else "right"),
          lambda *x: lib.adz_pad_sequence((c.side.tensor * n)(*x), n, first, value, left), parts)
    lengths = [len(p) for p in parts]
    padded, out = rnn.pad_sequence(parts, first), c.outputs(n)

    def ours(x):
        lib.adz_unpad_sequence(x, (ctypes.c_int64 * n)(*lengths), n, first, out)
        return tuple(out)
    c.run(f"unpad_sequence {lengths} {first}",
          lambda x: tuple(rnn.unpad_sequence(x.clone(), torch.tensor(lengths), first)), ours, [padded])


def main():
    warnings.simplefilter("ignore")
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    test_volumes.TOLERANCE = 1e-9  # derivatives of nearly singular matrices lose digits on both sides
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    c = Index(Side(sys.argv[1], sys.argv[2]))
    for function in (scatters, reductions, lists, ordered, counted, sums, statistics, solved, spectra, shapes,
                     sequences):
        before = c.count
        for _ in range(cases):
            function(c, c.lib)
        print(f"{function.__name__:12} {cases} cases, {c.count - before} numbers")
    print(f"{c.count} numbers compared, {len(c.failed)} differences")
    print(*c.failed[:40], sep="\n")
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
