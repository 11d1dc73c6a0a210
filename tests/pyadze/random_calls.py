#!/usr/bin/env python3
"""Calls random functions of the package with random arguments, good and bad ones.

    random_calls.py COUNT SEED

Each call gives a result or raises an exception. The process ends itself if a call takes a minute. test_bad_input.py
runs it in a process of its own, because a crash would end it.
"""
import faulthandler
import gc
import os
import pathlib
import random
import sys
import tempfile

import numpy

import adze
from adze import _adze, nn

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / 'golden'
PLACE = adze.zeros(2, 3)
PLAN = adze.capture(lambda: PLACE * 2, inputs=[PLACE]) # a capture of each pool would change what earlier ones hold

# Functions that change settings of the process, on which the other calls depend.
LEFT_OUT = {'set_memory_limit', 'set_num_threads', 'set_debug', 'set_classes', 'set_anomaly_enabled',
            'set_grad_enabled', 'set_deterministic', 'set_gemm_backend', 'set_matmul_precision', 'set_recomputing'}


def raises(*_):
    raise KeyError('from a callback')


def numbers_that_end():
    yield 1
    raise ValueError('a generator that raises')


class Pool:
    """Arguments: tensors and objects that earlier calls made, numbers, words, and what no function takes."""

    def __init__(self, rng):
        self.rng, self.tensors, self.others = rng, [], []
        shapes = [(), (1,), (3,), (2, 3), (3, 3), (2, 3, 4), (1, 2, 4, 4), (0,), (2, 0), (4, 3), (1, 1, 1, 1, 1, 1, 1, 1)]
        for shape in shapes:
            self.tensors += [adze.randn(shape), adze.rand(shape, requires_grad=True), adze.randint(0, 3, shape),
                             adze.randn(shape).double(), adze.randn(shape) > 0]
        self.tensors += [adze.ones(3, 4).T, adze.zeros(2, 2).half(), adze.tensor([float('nan'), float('inf')])]
        layers = [nn.Linear(3, 2), nn.LSTM(3, 4), nn.BatchNorm1d(3), nn.Embedding(4, 3), nn.Conv2d(2, 3, 3),
                  nn.Dropout(0.3), nn.Identity(), nn.MSELoss()]
        self.others += [layer._handle for layer in layers]
        self.others += [adze.optim.Adam(layers[0].parameters())._handle, _adze.generator_new(1),
                        adze.utils.data.TensorDataset(adze.ones(3, 2))._handle, _adze.safetensors_new(), PLAN._handle]
        folder = GOLDEN / 'pretrained/llama_tied'
        self.others += [_adze.pretrained_open(folder)] if folder.exists() else []

    def keep(self, made):
        if isinstance(made, adze.Tensor) and made.numel() < 1000 and len(self.tensors) < 150:
            self.tensors.append(made)
        elif type(made).__module__ == 'adze._adze' and len(self.others) < 60:
            self.others.append(made)
        elif isinstance(made, (tuple, list)):
            for one in made[:3]:
                self.keep(one)

    def number(self):
        r = self.rng
        return r.choice([0, 1, 2, 3, -1, -2, 5, 7, 2**40, -2**63, 2**63 - 1, 2**70, 0.5, -0.5, 1e300, float('nan'),
                         float('inf'), True, False])

    def one(self, depth=0):
        r = self.rng
        kind = r.random()
        if kind < 0.45:
            return r.choice(self.tensors)
        if kind < 0.7:
            return self.number() if r.random() < 0.5 else r.choice([0, 1, 2, 3, -1])
        if kind < 0.78:
            return r.choice(self.others)
        if kind < 0.9 and depth < 2:
            made = [self.one(depth + 1) for _ in range(r.randrange(4))]
            return made if r.random() < 0.6 else tuple(made)
        return r.choice([None, 'mean', 'sum', 'zeros', '', 'x', 'weight', 'ij,jk', 'no/such/file', b'bytes', adze.float64,
                         adze.int64, object(), {}, {'a': 1}, numpy.ones(3), numpy.ones((2, 3))[:, ::2], raises,
                         numbers_that_end(), iter([1, 2]), range(2), lambda *a: a[0] if a else adze.ones(2), 'a\0b',
                         '\ud800', slice(1), Ellipsis, 3j])


def functions():
    """Everything that can be called: functions of the extension, methods, functions of the package, layers."""
    found = [getattr(_adze, name) for name in dir(_adze) if not name.startswith('_') and name not in LEFT_OUT]
    found = [f for f in found if callable(f) and not isinstance(f, type)]
    found += [getattr(adze.Tensor, name) for name in dir(adze.Tensor) if not name.startswith('_')]
    found += [getattr(adze.Tensor, name) for name in ('__getitem__', '__setitem__', '__add__', '__pow__', '__format__',
                                                      '__array__', '__dlpack__', '__lt__', '__reduce__')]
    for module in (adze, nn, nn.functional, nn.init, nn.utils, adze.optim, adze.func, adze.autograd):
        found += [v for name, v in vars(module).items() if callable(v) and not name.startswith('_') and
                  name not in LEFT_OUT | {'detect_anomaly'}]
    return [f for f in found if callable(f)]


WHOLE = {'dim', 'dim0', 'dim1', 'k', 'n', 'size', 'index', 'start', 'length', 'end', 'step', 'in_features',
         'out_features', 'num_features', 'embed_dim', 'num_heads', 'd_model', 'nhead', 'channels', 'in_channels',
         'out_channels', 'groups', 'num_groups', 'num_channels', 'repeats', 'shift', 'num_layers', 'hidden_size',
         'input_size', 'num_embeddings', 'embedding_dim', 'step_size', 'rows', 'columns', 'steps', 'chunks', 'seed'}
REAL = {'p', 'alpha', 'beta', 'value', 'number', 'lr', 'eps', 'gamma', 'min', 'max', 'q', 'exponent', 'momentum',
        'rtol', 'atol', 'std', 'mean', 'low', 'high', 'lambd', 'threshold', 'negative_slope', 'max_norm', 'factor'}
SEVERAL = {'shape', 'dims', 'kernel_size', 'normalized', 'normalized_shape', 'output_size', 'padding', 'pads'}


def composed():
    """Functions of the layer in Python: those of PyTorch's names, hooks, loops, and what takes functions."""
    tensor = [getattr(adze.Tensor, n) for n in dir(adze.Tensor) if not n.startswith('_')]
    made = [f for f in vars(adze).values() if callable(f) and getattr(f, '__module__', '').startswith('adze')]
    made += [f for m in (adze.linalg, adze.special, adze.func, adze.autograd, adze.solvers, adze.models, nn.functional, nn.init, nn.utils)
             for n, f in vars(m).items() if callable(f) and not n.startswith('_')]
    left = {adze.set_default_dtype, adze.set_num_threads, adze.autograd.detect_anomaly, adze.load, adze.capture}
    return [f for f in tensor + made if callable(f) and f not in left and
            not (isinstance(f, type) and issubclass(f, BaseException)) and getattr(f, '__name__', '') not in LEFT_OUT]


def fitting(pool, name, r, like):
    """An argument of the kind that a parameter of this name mostly has."""
    if name in WHOLE:
        return r.choice([0, 1, 2, 3, -1])
    if name in REAL:
        return r.choice([0.0, 0.5, 1.0, 2, 1e-3])
    if name in SEVERAL:
        return r.choice([2, (2,), (3,), (2, 3), (2, 2), (3, 3), (0,), (1, 2)])
    if name in ('tensors', 'params', 'outputs', 'inputs', 'sequences'):
        return [like] * r.choice([1, 2])
    if name == 'modules':
        return [h for h in pool.others if type(h).__name__ == 'module'][:r.randrange(3)]
    handles = [h for h in pool.others if type(h).__name__ == name]
    if handles:
        return r.choice(handles)
    return like if r.random() < 0.7 else r.choice(pool.tensors)


def arguments(pool, f, r):
    """Half of the calls have arguments that mostly fit, and the others any."""
    text = getattr(f, '__text_signature__', None)
    if text is None or r.random() < 0.4:
        args = [pool.one() for _ in range(r.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5]))]
        if args and r.random() < 0.5:
            args[0] = r.choice(pool.tensors)
        return args
    names = [part.strip() for part in text.strip('()').split(',') if part.strip() not in ('', '$self', '/')]
    like = r.choice(pool.tensors)
    args = [fitting(pool, name.split('=')[0], r, like) for name in names if '=' not in name or r.random() < 0.1]
    if args and r.random() < 0.15:
        args[r.randrange(len(args))] = pool.one()
    return args


def call(pool, f, r):
    """One call, which may have arguments by name. What it makes may be an argument later."""
    args, named = arguments(pool, f, r), {}
    if r.random() < 0.15:
        named[r.choice(['dim', 'x', 'reduction', 'weight', 'keepdim', 'dtype', 'bias', 'p', 'nothing'])] = pool.one()
    made = f(*args, **named)
    pool.keep(made)
    if isinstance(made, nn.Module) and r.random() < 0.5:
        pool.keep(made(r.choice(pool.tensors)))
        repr(made)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    faulthandler.enable()
    r = random.Random(seed)
    adze.manual_seed(seed)
    _adze.set_memory_limit(1 << 29)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pool, all_ = Pool(r), functions() + composed()
        results = exceptions = 0
        for i in range(count):
            f = r.choice(all_)
            faulthandler.dump_traceback_later(60, exit=True)
            try:
                if len(sys.argv) > 3:
                    print(i, f, file=sys.stderr, flush=True)
                call(pool, f, r)
                results += 1
            except Exception: # noqa: BLE001
                exceptions += 1
            if i % 500 == 499:
                gc.collect()
                pool = Pool(r)
        faulthandler.cancel_dump_traceback_later()
        os.chdir('/')
    adze.set_grad_enabled(True)
    assert (adze.ones(2) + 1).tolist() == [2, 2]
    print(f'{count} calls of {len(all_)} functions: {results} results, {exceptions} exceptions')


if __name__ == '__main__':
    main()
