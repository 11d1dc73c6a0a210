#!/usr/bin/env python3
"""Elementwise functions and activations as modules in f64, compared with PyTorch: values, first and second derivatives
at drawn numbers of many scales, values and first derivatives at special numbers. Exits with 77 without PyTorch 2.15:
older ones give other results for NaN, for shifts by many bits and for large quotients.

usage: test_elementwise.py LIBADZE.so ADZE.json
"""
import ctypes
import math
import random
import sys

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)
if tuple(int(part) for part in torch.__version__.split('.')[:2]) < (2, 15):
    print(f'skipped: PyTorch {torch.__version__} is older than 2.15')
    sys.exit(77)

from adze_table import Library

INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, INF, -INF, NAN, 1e-300, -1e300, 0.25, 20.0]
TOLERANCE = 1e-12
DRAWN = 250


def either(low, high):
    return lambda: random.uniform(low, high)


def scales():
    """Numbers of all usual sizes, with both signs."""
    return random.choice([-1, 1]) * 10 ** random.uniform(-6, 3)


# name: how the inputs are drawn, adze's call, PyTorch's call. Options are drawn once for each round.
def rows(lib):
    t, f = torch, functional
    a, b = random.uniform(0.05, 2), random.uniform(-2, 2)
    eps, ends = random.uniform(0, 0.4), [random.uniform(-5, 5) for _ in range(3)]
    one = {
        'deg2rad': (scales, lib.adz_deg2rad, t.deg2rad),
        'rad2deg': (scales, lib.adz_rad2deg, t.rad2deg),
        'erfinv': (either(-0.999, 0.999), lib.adz_erfinv, t.erfinv),
        'sinc': (either(0.5, 4), lib.adz_sinc, t.sinc),
        'logit': (either(0.001, 0.999), lambda x: lib.adz_logit(x, -1), t.logit),
        'logit of limits': (either(-0.2, 1.2), lambda x: lib.adz_logit(x, eps), lambda x: t.logit(x, eps)),
        'hardsigmoid': (either(-6, 6), lib.adz_hardsigmoid, lambda x: f.relu6(x + 3) / 6),
        'hardshrink': (scales, lambda x: lib.adz_hardshrink(x, a), lambda x: f.hardshrink(x, a)),
        'softshrink': (scales, lambda x: lib.adz_softshrink(x, a), lambda x: f.softshrink(x, a)),
        'tanhshrink': (scales, lib.adz_tanhshrink, f.tanhshrink),
        'threshold': (scales, lambda x: lib.adz_threshold(x, b, a), lambda x: f.threshold(x, b, a)),
        'nan_to_num': (scales, lambda x: lib.adz_nan_to_num(x, *ends), lambda x: t.nan_to_num(x, *ends)),
        'nan_to_num of ends': (scales, lambda x: lib.adz_nan_to_num(x, 0, NAN, NAN), t.nan_to_num),
        'rrelu': (scales, lambda x: lib.adz_rrelu(x, a, a + 1, False, None), lambda x: f.rrelu(x, a, a + 1, False)),
        'softmin': (either(-5, 5), lambda x: lib.adz_softmin(x, 0), lambda x: f.softmin(x, 0)),
    }
    modules = {
        'ELU': (lib.adz_elu_new(a), nn.ELU(a)),
        'Hardshrink': (lib.adz_hardshrink_new(a), nn.Hardshrink(a)),
        'LogSigmoid': (lib.adz_logsigmoid_new(), nn.LogSigmoid()),
        'LogSoftmax': (lib.adz_log_softmax_new(0), nn.LogSoftmax(0)),
        'GLU': (lib.adz_glu_new(-1), nn.GLU(-1)),
        'Softmin': (lib.adz_softmin_new(0), nn.Softmin(0)),
        'Softplus': (lib.adz_softplus_new(a, 3), nn.Softplus(a, 3.0)),
        'Softshrink': (lib.adz_softshrink_new(a), nn.Softshrink(a)),
        'Tanhshrink': (lib.adz_tanhshrink_new(), nn.Tanhshrink()),
        'Threshold': (lib.adz_threshold_new(b, a), nn.Threshold(b, a)),
    }
    for name, (ours, theirs) in modules.items():
        text = ctypes.create_string_buffer(200)
        lib.adz_module_to_string(ours, text, 200)
        assert text.value.decode() == repr(theirs), (text.value, repr(theirs))
        one['nn.' + name] = (either(-5, 5), lambda x, m=ours: lib.adz_module_forward(m, x), theirs)
    two = {
        'xlogy': (either(0.01, 9), lib.adz_xlogy, t.xlogy),
        'fmax': (scales, lib.adz_fmax, t.fmax),
        'fmin': (scales, lib.adz_fmin, t.fmin),
        'floor_divide': (scales, lib.adz_floor_divide, lambda x, y: t.div(x, y, rounding_mode='floor')),
        'logaddexp2': (either(-20, 20), lib.adz_logaddexp2, t.logaddexp2),
        'ldexp': (either(-9, 9), lib.adz_ldexp, t.ldexp),
        'float_power': (either(0.1, 5), lib.adz_float_power, t.float_power),
        'addcdiv': (scales, lambda x, y: lib.adz_addcdiv(x, x, y, b), lambda x, y: t.addcdiv(x, x, y, value=b)),
    }
    truth = {
        'isinf': (lib.adz_isinf, t.isinf), 'isposinf': (lib.adz_isposinf, t.isposinf),
        'isneginf': (lib.adz_isneginf, t.isneginf),
        'signbit': (lib.adz_signbit, lambda x: t.signbit(x) & ~t.isnan(x)),
    }
    truth_of_two = {
        'isclose': (lambda x, y: lib.adz_isclose(x, y, a, eps, True), lambda x, y: t.isclose(x, y, a, eps, True)),
        'isclose of equals': (lambda x, y: lib.adz_isclose(x, y, 0, 0, False), lambda x, y: t.isclose(x, y, 0, 0)),
        'heaviside': (lib.adz_heaviside, t.heaviside),
    }
    return one, two, truth, truth_of_two


# Where adze's derivative at a special number is another one than PyTorch's, as its header says.
DEPARTS = {
    'hardshrink': {NAN}, 'softshrink': {NAN}, 'nn.Hardshrink': {NAN}, 'nn.Softshrink': {NAN},
}


class Numbers:
    """Tensors of the library, and what is read from them."""

    def __init__(self, lib):
        self.lib, self.compared, self.failed = lib, 0, []

    def tensor(self, values, dtype=None):
        kind, code = {torch.int64: (ctypes.c_int64, self.lib.ADZ_I64), torch.bool: (ctypes.c_bool, self.lib.ADZ_BOOL),
                      torch.int32: (ctypes.c_int32, self.lib.ADZ_I32), torch.uint8: (ctypes.c_uint8, self.lib.ADZ_U8),
                      None: (ctypes.c_double, self.lib.ADZ_F64)}[dtype]
        return self.lib.adz_tensor_from((kind * len(values))(*values), self.lib.shape(len(values)), code)

    def read(self, tensor):
        count = self.lib.adz_tensor_numel(tensor)
        wide = self.lib.adz_to(tensor, self.lib.ADZ_F64)
        return [self.lib.adz_tensor_at(wide, (ctypes.c_int64 * 1)(i)) for i in range(count)]

    def grad(self, y, x, create_graph):
        lib = self.lib
        total = lib.adz_sum(y, lib.adz_dims_of(0, None), False)
        options = lib.options('adz_backward_options', retain_graph=True, create_graph=create_graph)
        pointer = type(total)
        found = (pointer * 1)()
        lib.adz_autograd_grad((pointer * 1)(total), None, 1, (pointer * 1)(x), 1, options, found)
        return found[0]

    def compare(self, what, at, ours, theirs, size=0.0):
        """Each number within the tolerance, of its size or of the largest part that it is a sum of."""
        ours = self.read(ours) if not isinstance(ours, list) else ours
        theirs = [float(v) for v in (theirs.reshape(-1).tolist() if isinstance(theirs, torch.Tensor) else theirs)]
        assert len(ours) == len(theirs), what
        for place, got, wanted in zip(at, ours, theirs):
            self.compared += 1
            same = got == wanted or (got != got and wanted != wanted) or \
                abs(got - wanted) <= TOLERANCE * max(abs(wanted), size)
            if not same:
                self.failed.append(f'{what} at {place}: {got!r} instead of {wanted!r}')


def drawn_numbers(n, name, call, ours, theirs, inputs):
    """Values, first and second derivatives by each input, and by one after the other."""
    lists = [[call() for _ in range(DRAWN)] for _ in range(inputs)]
    leaves = [n.lib.adz_requires_grad_(n.tensor(values), True) for values in lists]
    wanted = [torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in lists]
    y, z = ours(*leaves), theirs(*wanted)
    at = list(zip(*lists)) if z.numel() == DRAWN else list(range(z.numel()))
    n.compare(name, at, y, z, 1e-3)
    for i in range(inputs):
        if not z.requires_grad:
            continue
        first, = torch.autograd.grad(z.sum(), wanted[i], create_graph=True)
        g = n.grad(n.lib.adz_square(y), leaves[i], True)
        square, = torch.autograd.grad(z.square().sum(), wanted[i], create_graph=True)
        size = float(square.detach().abs().max()) * 1e-3
        places = list(zip(*lists))
        n.compare(f'd {name} / d {i}', places, n.grad(y, leaves[i], False), first, 1e-2)
        n.compare(f'd {name}^2 / d {i}', places, g, square, size)
        for k in range(inputs if square.requires_grad else 0):
            second, = torch.autograd.grad(square.sum(), wanted[k], retain_graph=True, allow_unused=True)
            if second is not None:
                n.compare(f'd2 {name}^2 / d {i} d {k}', places, n.grad(g, leaves[k], False), second,
                          max(float(second.abs().max()) * 1e-2, 0.1))


def special_numbers(n, name, ours, theirs):
    if name in ('softmin', 'nn.Softmin', 'nn.LogSoftmax', 'nn.GLU', 'sinc'):
        return
    x, w = n.lib.adz_requires_grad_(n.tensor(SPECIAL), True), torch.tensor(SPECIAL, dtype=torch.float64, requires_grad=True)
    y, z = ours(x), theirs(w)
    n.compare(name, SPECIAL, y, z)
    departs = DEPARTS.get(name, set())
    got, wanted = n.read(n.grad(y, x, False)), torch.autograd.grad(z.sum(), w)[0].tolist()
    kept = [i for i, v in enumerate(SPECIAL) if not (v != v and any(d != d for d in departs))]
    n.compare(f'd {name}', [SPECIAL[i] for i in kept], [got[i] for i in kept], [wanted[i] for i in kept])


def special_pairs(n, name, ours, theirs):
    pairs = [(a, b) for a in SPECIAL for b in SPECIAL]
    x, y = (n.tensor([p[k] for p in pairs]) for k in range(2))
    v, w = (torch.tensor([p[k] for p in pairs], dtype=torch.float64) for k in range(2))
    n.compare(name, pairs, ours(x, y), theirs(v, w), 1e-3)


def integers(n):
    lib, t = n.lib, torch
    two = {'bitwise_and': (lib.adz_bitwise_and, t.bitwise_and), 'bitwise_or': (lib.adz_bitwise_or, t.bitwise_or),
           'bitwise_xor': (lib.adz_bitwise_xor, t.bitwise_xor), 'gcd': (lib.adz_gcd, t.gcd), 'lcm': (lib.adz_lcm, t.lcm),
           'bitwise_left_shift': (lib.adz_bitwise_left_shift, t.bitwise_left_shift),
           'bitwise_right_shift': (lib.adz_bitwise_right_shift, t.bitwise_right_shift),
           'floor_divide': (lib.adz_floor_divide, t.floor_divide)}
    for dtype, low, high in ((t.int64, -900, 900), (t.int32, -900, 900), (t.uint8, 0, 255)):
        for name, (ours, theirs) in two.items():
            x = [random.randint(low, high) for _ in range(DRAWN)]
            y = [random.randint(0 if dtype == t.uint8 else -9, 70) or 1 for _ in range(DRAWN)]
            wanted = theirs(t.tensor(x, dtype=dtype), t.tensor(y, dtype=dtype))
            n.compare(f'{name} of {dtype}', list(zip(x, y)), ours(n.tensor(x, dtype), n.tensor(y, dtype)), wanted)
        x = [random.randint(low, high) for _ in range(DRAWN)]
        n.compare(f'bitwise_not of {dtype}', x, lib.adz_bitwise_not(n.tensor(x, dtype)), ~t.tensor(x, dtype=dtype))


def main():
    lib = Library(sys.argv[1], sys.argv[2])
    n = Numbers(lib)
    random.seed(54)
    for _ in range(4):
        scope = lib.adz_scope_open()
        one, two, truth, truth_of_two = rows(lib)
        for name, (call, ours, theirs) in one.items():
            drawn_numbers(n, name, call, ours, theirs, 1)
            special_numbers(n, name, ours, theirs)
        for name, (call, ours, theirs) in two.items():
            drawn_numbers(n, name, call, ours, theirs, 2)
            if name != 'addcdiv':
                special_pairs(n, name, ours, theirs)
        for name, (ours, theirs) in truth.items():
            n.compare(name, SPECIAL, ours(n.tensor(SPECIAL)), theirs(torch.tensor(SPECIAL, dtype=torch.float64)))
        for name, (ours, theirs) in truth_of_two.items():
            special_pairs(n, name, ours, theirs)
        integers(n)
        lib.adz_scope_close(scope)
    names = [line.split(' at ')[0] for line in n.failed]
    print(*(line for i, line in enumerate(n.failed) if names[:i].count(names[i]) < 3), sep='\n')
    print(f'{n.compared} numbers compared, {len(n.failed)} differ')
    return 1 if n.failed else 0


if __name__ == '__main__':
    sys.exit(main())
