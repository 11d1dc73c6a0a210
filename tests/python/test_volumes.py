#!/usr/bin/env python3
"""Convolutions, pools, pads and grids against PyTorch, with random options in f64: values, first and second
derivatives, special values and scales. Exits with 77 where there is no torch, or one without an operator.

usage: test_volumes.py LIBADZE.so ADZE.json [CASES]
"""

import ctypes
import random
import sys

try:
    import torch
    from torch.nn import functional as F
    F.lp_pool3d
except (ImportError, AttributeError) as error:
    print(f"skipped: {error}")
    sys.exit(77)

from adze_table import Failed, Library

TOLERANCE = 1e-11  # of the largest element


class Side:
    """adze's tensors from PyTorch's and back."""

    def __init__(self, library, table):
        self.lib = Library(library, table)
        self.tensor = ctypes.POINTER(self.lib.types["adz_tensor"])

    def give(self, t, grad=False):
        t = t.detach().contiguous()
        dtype = self.lib.ADZ_F64 if t.dtype == torch.float64 else self.lib.ADZ_I64
        made = self.lib.adz_empty(self.lib.shape(*t.shape), dtype)
        ctypes.memmove(self.lib.adz_tensor_data(made), t.data_ptr(), t.numel() * 8)
        return self.lib.adz_requires_grad_(made, True) if grad else made

    def take(self, t):
        t = self.lib.adz_contiguous(t)
        sizes = [self.lib.adz_tensor_size(t, d) for d in range(self.lib.adz_tensor_rank(t))]
        dtype = torch.float64 if self.lib.adz_tensor_dtype(t) == self.lib.ADZ_F64 else torch.int64
        made = torch.empty(sizes, dtype=dtype)
        ctypes.memmove(made.data_ptr(), self.lib.adz_tensor_data(t), made.numel() * 8)
        return made

    def grad(self, y, dy, inputs):
        """Gradients that can be differentiated."""
        n = len(inputs)
        options = self.lib.options("adz_backward_options", create_graph=True, allow_unused=True)
        results = (self.tensor * n)()
        self.lib.adz_autograd_grad((self.tensor * 1)(y), (self.tensor * 1)(dy), 1, (self.tensor * n)(*inputs), n,
                                   options, results)
        return list(results)


class Comparison:
    def __init__(self, side):
        self.side, self.count, self.failed = side, 0, []

    def equal(self, what, got, wanted):
        self.count += wanted.numel()
        if got.shape != wanted.shape:
            self.failed.append(f"{what}: shape {tuple(got.shape)} and not {tuple(wanted.shape)}")
            return
        if wanted.numel() == 0:
            return
        got, wanted = got.double(), wanted.double()
        finite = torch.isfinite(wanted)
        same = torch.equal(got[~finite].nan_to_num(7), wanted[~finite].nan_to_num(7))
        scale = wanted[finite].abs().max() if finite.any() else torch.tensor(1.)
        apart = (got[finite] - wanted[finite]).abs().max() / max(float(scale), 1e-300) if finite.any() else 0
        if not same or not apart <= TOLERANCE:
            self.failed.append(f"{what}: {float(apart):.3g} apart, special values {'alike' if same else 'differ'}")

    def run(self, what, theirs, ours, inputs, wanting=None, orders=2):
        """Compares a function of `inputs`, of which those in `wanting` want gradients."""
        side, lib = self.side, self.side.lib
        wanting = range(len(inputs)) if wanting is None else wanting
        scope = lib.adz_scope_open()
        try:
            leaves = [t.clone().requires_grad_(i in wanting) for i, t in enumerate(inputs)]
            mine = [side.give(t, i in wanting) for i, t in enumerate(inputs)]
            y, z = theirs(*leaves), ours(*mine)
            y, z = (y if isinstance(y, tuple) else (y,)), (z if isinstance(z, tuple) else (z,))
            for k, (a, b) in enumerate(zip(y, z)):
                self.equal(f"{what}, result {k}", side.take(b), a.detach())
            if orders == 0 or not y[0].requires_grad or y[0].numel() == 0:
                return
            x = [leaves[i] for i in wanting]
            dy = torch.randn_like(y[0]).requires_grad_(True)
            dx = torch.autograd.grad(y[0], x, dy, create_graph=True)
            mine_dy = side.give(dy, True)
            mine_x = [mine[i] for i in wanting]
            mine_dx = side.grad(z[0], mine_dy, mine_x)
            for k, (a, b) in enumerate(zip(dx, mine_dx)):
                self.equal(f"{what}, gradient {k}", side.take(b), a.detach())
            if orders == 1:
                return
            v = [torch.randn_like(d) for d in dx]
            s = sum((d * w).sum() for d, w in zip(dx, v))
            ddx = torch.autograd.grad(s, [*x, dy], allow_unused=True)
            total = None
            for d, w in zip(mine_dx, v):
                part = lib.adz_sum(lib.adz_mul(d, side.give(w)), lib.adz_dims_of(0, None), lib.ADZ_DROPDIM)
                total = part if total is None else lib.adz_add(total, part)
            used = [i for i, d in enumerate(ddx) if d is not None and bool((d != 0).any())]
            if used:
                mine_all = [*mine_x, mine_dy]
                one = side.give(torch.ones((), dtype=torch.float64))
                found = side.grad(total, one, [mine_all[i] for i in used])
                for i, b in zip(used, found):
                    self.equal(f"{what}, second derivative {i}", side.take(b), ddx[i])
        except (Failed, RuntimeError) as error:
            self.failed.append(f"{what}: {error}")
        finally:
            lib.adz_scope_close(scope)


def numbers(n, low, high):
    return [random.randint(low, high) for _ in range(n)]


def images(n, low=3, high=7, channels=None):
    lead = [random.randint(1, 3)] if random.random() < 0.7 else []
    return torch.randn(*lead, channels or random.randint(1, 4), *numbers(n, low, high), dtype=torch.float64)


def special(x):
    """Some elements become special, or all of them tiny or huge."""
    kind = random.randrange(8)
    if kind == 0:
        at = torch.rand_like(x) < 0.1
        x = torch.where(at, torch.tensor(random.choice([float("nan"), float("inf"), -float("inf"), -0.0])).double(), x)
    elif kind == 1:
        x = x * random.choice([1e-200, 1e150])
    return x


def convolutions(c, n):
    lib, s = c.side.lib, c.side.lib.shape
    transposed = random.random() < 0.5
    groups = random.choice([1, 1, 2, 3])
    each, maps = random.randint(1, 3), random.randint(1, 5)
    kernel, stride, dilation = numbers(n, 1, 3), numbers(n, 1, 3), numbers(n, 1, 2)
    padding = numbers(n, 0, 2)
    more = [random.randrange(max(a, b)) for a, b in zip(stride, dilation)]
    x = images(n, 5, 8, groups * each)
    w = torch.randn(groups * (each if transposed else maps), maps if transposed else each, *kernel, dtype=torch.float64)
    b = torch.randn(groups * maps, dtype=torch.float64)
    o = dict(stride=s(*stride), dilation=s(*dilation), padding=s(*padding), groups=groups)
    if transposed:
        o["output_padding"] = s(*more)
    elif random.random() < 0.2:
        stride = [1] * n
        o.update(stride=s(*stride), padding=s(), padding_rule=lib.ADZ_PADDING_SAME)
        padding = "same"
    o = lib.options("adz_conv_options", **o)
    name = f"conv{'_transpose' if transposed else ''}{n}d"
    theirs = getattr(F, name)
    given = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    if transposed:
        given["output_padding"] = more
    ours = getattr(lib, "adz_" + name)
    c.run(f"{name} {given}", lambda x, w, b: theirs(x, w, b, **given), lambda x, w, b: ours(x, w, b, o), [x, w, b])


def pools(c, n):
    lib, s = c.side.lib, c.side.lib.shape
    kernel = numbers(n, 1, 3)
    stride, padding = numbers(n, 1, 3), [random.randint(0, k // 2) for k in kernel]
    ceil = random.random() < 0.5
    size = (lambda k: k[0]) if n == 1 else (lambda k: s(*k))
    x = special(images(n, 5, 8))
    o = lib.options("adz_max_pool_options", stride=s(*stride), padding=s(*padding), ceil_mode=ceil)
    out = (c.side.tensor * 1)()

    def ours(x):
        y = getattr(lib, f"adz_max_pool{n}d")(x, size(kernel), o, out)
        return y, out[0]
    c.run(f"max_pool{n}d {kernel} {stride} {padding} {ceil}", lambda x: getattr(F, f"max_pool{n}d")(
        x, kernel, stride, padding, 1, ceil, return_indices=True), ours, [x], [0], 1)
    include, divisor = random.random() < 0.5, random.choice([None, None, 3])
    o2 = lib.options("adz_avg_pool_options", stride=s(*stride), padding=s(*padding), ceil_mode=ceil,
                     count_include_pad=include, divisor_override=divisor or 0)
    more = {} if n == 1 else {"divisor_override": divisor}
    if n > 1 or divisor is None:
        c.run(f"avg_pool{n}d {kernel} {stride} {padding} {ceil} {include} {divisor}",
              lambda x: getattr(F, f"avg_pool{n}d")(x, kernel, stride, padding, ceil, include, **more),
              lambda x: getattr(lib, f"adz_avg_pool{n}d")(x, size(kernel), o2), [images(n, 5, 8)])
    wanted = numbers(n, 1, 6)
    c.run(f"adaptive_avg_pool{n}d {wanted}", lambda x: getattr(F, f"adaptive_avg_pool{n}d")(x, wanted),
          lambda x: getattr(lib, f"adz_adaptive_avg_pool{n}d")(x, size(wanted)), [images(n, 5, 8)])

    def adaptive(x):
        y = getattr(lib, f"adz_adaptive_max_pool{n}d")(x, size(wanted), out)
        return y, out[0]
    c.run(f"adaptive_max_pool{n}d {wanted}", lambda x: getattr(F, f"adaptive_max_pool{n}d")(
        x, wanted, return_indices=True), adaptive, [x], [0], 1)


def norms(c, n):
    lib, s = c.side.lib, c.side.lib.shape
    p = random.choice([1., 2., 2.5, 3., -1., 4., float("inf"), -float("inf")])
    kernel, stride, ceil = numbers(n, 1, 3), random.choice([None, numbers(n, 1, 3)]), random.random() < 0.5
    o = lib.options("adz_lp_pool_options", stride=s(*(stride or [])), ceil_mode=ceil)
    size = kernel[0] if n == 1 else s(*kernel)
    x = images(n, 5, 8)
    x = x.abs() + 0.1 if p not in (2., 4.) else x
    # The absolute value of one element has no second derivative but what rounding leaves.
    orders = 1 if p in (float("inf"), -float("inf")) or max(kernel) == 1 else 2
    if n == 1:
        kernel, stride = kernel[0], stride and stride[0]
    theirs = getattr(F, f"lp_pool{n}d")
    ours = getattr(lib, f"adz_lp_pool{n}d")
    c.run(f"lp_pool{n}d {p} {kernel} {stride} {ceil}", lambda x: theirs(x, p, kernel, stride, ceil),
          lambda x: ours(x, p, size, o), [x], [0], orders)
    c.run(f"lp_pool{n}d {p} special", lambda x: theirs(x, p, kernel, stride, ceil), lambda x: ours(x, p, size, o),
          [special(x).abs()], [0], 0)
    zeros = torch.where(torch.rand_like(x) < 0.6, 0., x)
    if p > 1 and p != float("inf"):
        c.run(f"lp_pool{n}d {p} zeros", lambda x: theirs(x, p, kernel, stride, ceil), lambda x: ours(x, p, size, o),
              [zeros], [0], 1)


def unpools(c, n):
    lib, s = c.side.lib, c.side.lib.shape
    kernel = numbers(n, 1, 3)
    padding = [random.randint(0, k // 2) for k in kernel]
    x = images(n, 5, 8)
    # Windows do not overlap: of equal positions PyTorch's gradient is another one.
    y, at = getattr(F, f"max_pool{n}d")(x, kernel, kernel, padding, return_indices=True)
    sizes = random.choice([None, list(x.shape[-n:])])
    o = lib.options("adz_max_unpool_options", stride=s(*kernel), padding=s(*padding), output_size=s(*(sizes or [])))
    size = kernel[0] if n == 1 else s(*kernel)
    low = [(a - 1) * k - 2 * p + k for a, k, p in zip(y.shape[-n:], kernel, padding)]
    if sizes is None and any(a < b for a, b in zip(low, x.shape[-n:])):
        return  # the indices belong to another size
    if sizes is not None and not all(a - k < b < a + k for a, b, k in zip(low, sizes, kernel)):
        return
    c.run(f"max_unpool{n}d {kernel} {padding} {sizes}",
          lambda y, at: getattr(F, f"max_unpool{n}d")(y, at, kernel, kernel, padding, sizes),
          lambda y, at: getattr(lib, f"adz_max_unpool{n}d")(y, at, size, o), [y, at], [0], 1)


def pads(c, n):
    lib = c.side.lib
    x = special(images(n, 4, 7))
    mode = random.choice(["constant", "reflect", "replicate", "circular"])
    pad = numbers(2 * n, 0, 3) if mode != "constant" else numbers(2 * n, -1, 3)
    given = (ctypes.c_int64 * len(pad))(*pad)
    which = {"reflect": 1, "replicate": 2, "circular": 3}.get(mode)
    c.run(f"pad {mode} {pad}", lambda x: F.pad(x, pad, mode),
          lambda x: lib.adz_pad_mode(x, given, len(pad), which) if which else lib.adz_pad(x, given, len(pad), 0), [x])


def sizes_of(c, n):
    lib, s = c.side.lib, c.side.lib.shape
    mode = random.choice(["nearest", ("linear", "bilinear", "trilinear")[n - 1]])
    x = torch.randn(random.randint(1, 2), random.randint(1, 3), *numbers(n, 1, 6), dtype=torch.float64)
    factor = random.choice([None, None, 2., 1.5, 3.])
    size = None if factor else numbers(n, 1, 9)
    align = mode != "nearest" and random.random() < 0.5
    o = lib.options("adz_interpolate_options", mode=n if mode != "nearest" else 0, scale_factor=factor or 0,
                    align_corners=align)
    c.run(f"interpolate {mode} {tuple(x.shape)} {size} {factor} {align}", lambda x: F.interpolate(
        x, size, factor, mode, align if mode != "nearest" else None),
        lambda x: lib.adz_interpolate(x, s(*(size or [])), o), [x])


def grids(c, n):
    lib, s = c.side.lib, c.side.lib.shape
    mode = random.choice(["bilinear", "nearest", "bicubic"] if n == 2 else ["bilinear", "nearest"])
    padding = random.choice(["zeros", "border", "reflection"])
    align = random.random() < 0.5
    batch = random.randint(1, 2)
    x = torch.randn(batch, random.randint(1, 3), *numbers(n, 1, 5), dtype=torch.float64)
    grid = torch.randn(batch, *numbers(n, 1, 4), n, dtype=torch.float64) * random.choice([0.5, 1, 4])
    o = lib.options("adz_grid_sample_options", mode=["bilinear", "nearest", "bicubic"].index(mode),
                    padding_mode=["zeros", "border", "reflection"].index(padding), align_corners=align)
    # PyTorch has second derivatives of neither kernel: they are compared with differences elsewhere.
    c.run(f"grid_sample {mode} {padding} {align} {tuple(x.shape)}",
          lambda x, g: F.grid_sample(x, g, mode, padding, align), lambda x, g: lib.adz_grid_sample(x, g, o),
          [x, grid], [0] if mode == "nearest" else [0, 1], 1)
    far = grid * random.choice([1e3, 1e-300, 1e9])
    if mode != "nearest" and padding != "reflection":
        c.run(f"grid_sample {mode} {padding} {align} far", lambda x, g: F.grid_sample(x, g, mode, padding, align),
              lambda x, g: lib.adz_grid_sample(x, g, o), [x, far], [0, 1], 0)
    theta = torch.randn(batch, n, n + 1, dtype=torch.float64)
    size = [batch, 2, *numbers(n, 1, 5)]
    c.run(f"affine_grid {size} {align}", lambda t: F.affine_grid(t, size, align),
          lambda t: lib.adz_affine_grid(t, s(*size), align), [theta])


def main():
    import warnings
    warnings.simplefilter("ignore")
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    c = Comparison(Side(sys.argv[1], sys.argv[2]))
    for function in (convolutions, pools, norms, unpools, pads, sizes_of):
        for _ in range(cases):
            function(c, random.randint(1, 3))
    for _ in range(cases):
        grids(c, random.randint(2, 3))
    print(f"{c.count} numbers compared, {len(c.failed)} differences")
    print(*c.failed[:40], sep="\n")
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
