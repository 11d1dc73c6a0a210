#!/usr/bin/env python3
"""The toy regression from Python, through ctypes and the standard library alone.

Prints the first and the last loss; toy.cpp prints the same.

usage: toy.py LIBRARY
"""

import ctypes
import math
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_size_t
from ctypes import c_uint64, c_void_p

ADZ_F32 = 0
ADZ_REDUCE_MEAN = 1


class Shape(ctypes.Structure):
    _fields_ = [("rank", c_int), ("sizes", c_int64 * 8)]


class TensorList(ctypes.Structure):
    _fields_ = [("items", POINTER(c_void_p)), ("count", c_size_t)]


class SgdOptions(ctypes.Structure):
    """The start of adz_sgd_options: the library reads no more than the size that it is told."""
    _fields_ = [("size", c_size_t), ("momentum", c_double)]


PROTOTYPES = {
    "adz_error_message": (c_char_p,),
    "adz_manual_seed": (c_int, c_uint64),
    "adz_shape_of": (Shape, c_int, POINTER(c_int64)),
    "adz_scope_open": (c_void_p,),
    "adz_scope_close": (c_int, c_void_p),
    "adz_tensor_from": (c_void_p, c_void_p, Shape, c_int),
    "adz_item": (c_double, c_void_p),
    "adz_mse_loss": (c_void_p, c_void_p, c_void_p, c_int),
    "adz_backward": (c_int, c_void_p),
    "adz_linear_new": (c_void_p, c_int64, c_int64, c_void_p),
    "adz_relu_new": (c_void_p,),
    "adz_sequential_new": (c_void_p, POINTER(c_void_p), c_size_t),
    "adz_module_forward": (c_void_p, c_void_p, c_void_p),
    "adz_module_parameters": (TensorList, c_void_p),
    "adz_module_zero_grad": (c_int, c_void_p),
    "adz_module_release": (None, POINTER(c_void_p)),
    "adz_sgd_options_init": (None, POINTER(SgdOptions), c_size_t),
    "adz_sgd_new": (c_void_p, TensorList, c_double, POINTER(SgdOptions)),
    "adz_optimizer_step": (c_int, c_void_p),
    "adz_optimizer_release": (None, POINTER(c_void_p)),
}


class Adze:
    """The library's functions; a failure becomes an exception with the library's message."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        for name, (result, *arguments) in PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name.removeprefix("adz_"), self.checked(function, result))

    def checked(self, function, result):
        def call(*arguments):
            value = function(*arguments)
            if result is c_void_p and value is None or result is c_int and value != 0:
                raise RuntimeError(self.error_message().decode())
            return value
        return call


def network(adz):
    layers = (c_void_p * 3)(adz.linear_new(1, 32, None), adz.relu_new(),
                            adz.linear_new(32, 1, None))
    return c_void_p(adz.sequential_new(layers, len(layers)))


def train(adz):
    rows, steps = 256, 400
    # In single precision step by step, as the C++ program computes them.
    single = lambda value: c_float(value).value
    inputs = (c_float * rows)(*(single(-2.0 + single(single(4.0 * i) / (rows - 1)))
                                for i in range(rows)))
    targets = (c_float * rows)(*(math.sin(2.0 * x) for x in inputs))
    shape = adz.shape_of(2, (c_int64 * 2)(rows, 1))

    adz.manual_seed(7)
    model = network(adz)
    options = SgdOptions()
    adz.sgd_options_init(byref(options), ctypes.sizeof(options))
    options.momentum = 0.9
    sgd = c_void_p(adz.sgd_new(adz.module_parameters(model), 0.05, byref(options)))
    losses = []
    for _ in range(steps):
        scope = adz.scope_open()
        x = adz.tensor_from(inputs, shape, ADZ_F32)
        y = adz.tensor_from(targets, shape, ADZ_F32)
        loss = adz.mse_loss(adz.module_forward(model, x), y, ADZ_REDUCE_MEAN)
        adz.module_zero_grad(model)
        adz.backward(loss)
        adz.optimizer_step(sgd)
        losses.append(adz.item(loss))
        adz.scope_close(scope)
    adz.optimizer_release(byref(sgd))
    adz.module_release(byref(model))
    return losses


def main():
    losses = train(Adze(sys.argv[1]))
    print(f"{losses[0]:.9g} {losses[-1]:.9g}")
    return 0 if losses[-1] < 0.02 and losses[-1] < losses[0] / 10 else 1


if __name__ == "__main__":
    sys.exit(main())
