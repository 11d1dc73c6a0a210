#!/usr/bin/env python3
"""Derivatives of every layer by its input, in f64: adze's products with Jacobians, Jacobians and Hessians are those of
torch.func. Exits with 77 where there is no torch.func.

usage: test_derivatives.py ADZE_LAYERS
"""

import os
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import func, nn
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import adze_state
from test_layers import LAYERS, call

TOLERANCE = 1e-12  # of the largest element

# Those of adze_layers.c that test_layers.py has not.
OTHERS = {
    "linear": lambda: nn.Linear(9, 5), "layer_norm": lambda: nn.LayerNorm(9), "max_pool2d": lambda: nn.MaxPool2d((3, 2)),
    "avg_pool2d": lambda: nn.AvgPool2d((2, 3)), "adaptive_avg_pool2d": lambda: nn.AdaptiveAvgPool2d((4, 3)),
    "gelu": nn.GELU, "silu": nn.SiLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "mish": nn.Mish,
    "hardswish": nn.Hardswish, "leaky_relu": lambda: nn.LeakyReLU(0.1), "softmax": lambda: nn.Softmax(-1),
    "network": lambda: nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 3)),
    # CrossMapLRN2d of PyTorch has no second derivative; with an odd size it is LocalResponseNorm.
    "local_response_norm": lambda: nn.LocalResponseNorm(2, 0.5, 0.75, 1),
    "cross_map_lrn2d": lambda: nn.LocalResponseNorm(3, 0.5, 0.6, 2), "channel_shuffle": lambda: nn.ChannelShuffle(2),
}


def of_torch(model, x, v, u):
    """Each derivative by torch.func, and by torch.autograd.functional for layers that torch.func cannot take."""
    def number(x):
        return call(model, x).sin().sum()

    def apply(x):
        return call(model, x)

    def either(first, second):
        try:
            return first()
        except (RuntimeError, NotImplementedError):
            return second()

    old = torch.autograd.functional
    yield "vjp", func.vjp(apply, x)[1](u)[0]
    jacobian = either(lambda: func.jacrev(apply)(x), lambda: old.jacobian(apply, x))
    yield "jacobian", jacobian
    yield "jvp", either(lambda: func.jvp(apply, (x,), (v,))[1], lambda: torch.tensordot(jacobian, v, v.dim()))
    hessian = either(lambda: func.jacrev(func.grad(number))(x), lambda: old.hessian(number, x))
    yield "hessian", hessian
    yield "hvp", torch.tensordot(hessian, v, v.dim())


def main():
    torch.set_num_threads(1)
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "derive", folder], check=True)
        data = adze_state.read(os.path.join(folder, "derivatives.safetensors"))[0]
        for name, make in {**LAYERS, **OTHERS}.items():
            path = os.path.join(folder, name + ".safetensors")
            if f"{name}.x" not in data:
                print(f"{name:20} not derived")
                continue
            model = make().double().eval()
            if os.path.exists(path):
                model.load_state_dict(adze_state.load_weights(path), strict=True)
            model.requires_grad_(False)
            found = []
            for what, wanted in of_torch(model, *(data[f"{name}.{k}"] for k in ("x", "v", "u"))):
                got = data[f"{name}.{what}"]
                apart = float((got - wanted).abs().max().detach() / (1 + wanted.abs().max().detach()))
                found.append(f"{what} {apart:.1e}")
                if got.shape != wanted.shape or not apart <= TOLERANCE:
                    failed.append(f"{name}: {what} is {apart:.3g} apart")
            print(f"{name:20} {', '.join(found)}", flush=True)
    print(*failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
