#!/usr/bin/env python3
"""Optimizers and schedules against PyTorch, with random options: parameters and states over hundreds of steps in f64
and f32, checkpoints both ways, and rates. Exits with 77 where there is no torch, or one without these optimizers.

usage: test_optimizers.py LIBADZE.so ADZE.json [CASES]
"""

import ctypes
import json
import math
import os
import random
import sys
import tempfile

try:
    import torch
    from torch.optim import lr_scheduler
    from torch.optim.swa_utils import SWALR
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import adze_state
from adze_table import Library

STEPS = 200
SHAPES = ((7,), (6, 4), (3, 8), (2, 3, 5), ())
TOLERANCES = {torch.float64: 1e-9, torch.float32: 2e-3}
compared = 0


def apart(a, b):
    """The largest difference, relative to the size of the tensors. NaN and infinity must be where they are there."""
    global compared
    compared += a.numel()
    both = torch.isfinite(a) & torch.isfinite(b)
    other = torch.equal(torch.nan_to_num(a[~both], 7, 8, 9), torch.nan_to_num(b[~both], 7, 8, 9))
    if a.shape != b.shape or not other:
        return math.inf
    return float((a - b)[both].abs().max() / (1e-3 + b[both].abs().max())) if both.any() else 0.0


# ---- optimizers ----------------------------------------------------------------------------------------------------


def flag(rng):
    return rng.random() < 0.4


def decay(rng):
    return rng.choice((0.0, rng.uniform(0, 0.3)))


def betas(rng):
    return (rng.uniform(0, 0.95), rng.uniform(0.5, 0.999))


# The options of PyTorch, drawn at random.
KINDS = {
    "SGD": lambda r: dict(momentum=r.choice((0.0, 0.8)), weight_decay=decay(r), maximize=flag(r)),
    "Adam": lambda r: dict(betas=betas(r), eps=r.choice((1e-8, 1e-3)), weight_decay=decay(r), amsgrad=flag(r),
                           maximize=flag(r)),
    "AdamW": lambda r: dict(betas=betas(r), weight_decay=decay(r), amsgrad=flag(r), maximize=flag(r)),
    "RAdam": lambda r: dict(betas=betas(r), weight_decay=decay(r), decoupled_weight_decay=flag(r), maximize=flag(r)),
    "RMSprop": lambda r: dict(alpha=r.uniform(0.5, 0.99), eps=r.choice((1e-8, 1e-3)), weight_decay=decay(r),
                              momentum=r.choice((0.0, 0.5)), maximize=flag(r)),
    "Adagrad": lambda r: dict(lr_decay=r.choice((0.0, 0.1)), weight_decay=decay(r), eps=r.choice((1e-10, 1e-3)),
                              initial_accumulator_value=r.choice((0.0, 0.5)), maximize=flag(r)),
    "Adadelta": lambda r: dict(rho=r.uniform(0, 1), eps=r.choice((1e-6, 1e-2)), weight_decay=decay(r),
                               maximize=flag(r)),
    "Adamax": lambda r: dict(betas=betas(r), eps=r.choice((1e-8, 1e-3)), weight_decay=decay(r), maximize=flag(r)),
    "NAdam": lambda r: dict(betas=betas(r), eps=r.choice((1e-8, 1e-3)), weight_decay=decay(r),
                            momentum_decay=r.choice((0.0, 4e-3, 0.3)), decoupled_weight_decay=flag(r),
                            maximize=flag(r)),
    "ASGD": lambda r: dict(lambd=r.choice((0.0, 1e-4, 0.1)), alpha=r.uniform(0, 1.2), t0=r.choice((0.0, 20.0, 1e6)),
                           weight_decay=decay(r), maximize=flag(r)),
    "Rprop": lambda r: dict(etas=(r.uniform(0.1, 0.9), r.uniform(1.05, 2)),
                            step_sizes=(r.uniform(1e-6, 1e-3), r.uniform(0.01, 50)), maximize=flag(r)),
    "Adafactor": lambda r: dict(beta2_decay=-r.uniform(0, 1), eps=(r.choice((None, 0.0, 1e-3)), r.uniform(0, 0.1)),
                                d=r.uniform(1, 2), weight_decay=decay(r), maximize=flag(r)),
    "Muon": lambda r: dict(weight_decay=decay(r), momentum=r.uniform(0, 0.98), nesterov=flag(r),
                           ns_steps=r.randint(0, 6), eps=r.choice((1e-7, 1e-1)),
                           ns_coefficients=(r.uniform(3.3, 3.4445), r.uniform(-4.775, -4.6), r.uniform(1.95, 2.0315)),
                           adjust_lr_fn=r.choice((None,) + adze_state.ADJUST_LR)),
}


def fields_of(options):
    """The members of adze's struct."""
    fields = {}
    for key, value in options.items():
        if key == "adjust_lr_fn":
            fields[key] = adze_state.ADJUST_LR.index(value or "original")
        elif isinstance(value, tuple):
            fields.update((name, -1.0 if part is None else part)
                          for name, part in zip(adze_state.TUPLES[key], value))
        else:
            fields[key] = value
    return fields


class Both:
    """An optimizer of both sides, with two groups."""

    def __init__(self, lib, rng, kind, dtype):
        self.lib, self.rng, self.kind, self.dtype = lib, rng, kind, dtype
        options, lr = KINDS[kind](rng), rng.uniform(0.001, 0.05)
        shapes = [shape for shape in SHAPES if kind != "Muon" or len(shape) == 2]
        self.theirs = [torch.nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in shapes]
        self.ours = [self.leaf(w) for w in self.theirs]
        self.their = getattr(torch.optim, kind)(self.theirs[:1], lr=lr, **options)
        self.their.add_param_group({"params": self.theirs[1:]})
        low = kind.lower()
        fields = lib.options(f"adz_{low}_options", **fields_of(options))
        self.our = getattr(lib, f"adz_{low}_new")(self.list(self.ours[:1]), lr, fields)
        lib.adz_optimizer_add_param_group(self.our, self.list(self.ours[1:]))
        self.set_lr(1, lr / 2)
        self.said = f"{kind} {dtype} lr={lr} {options}"

    def leaf(self, t):
        t = t.detach().contiguous()
        dtype = self.lib.ADZ_F64 if self.dtype == torch.float64 else self.lib.ADZ_F32
        made = self.lib.adz_tensor_from(ctypes.c_void_p(t.data_ptr()), self.lib.shape(*t.shape), dtype)
        return self.lib.adz_requires_grad_(made, True)

    def list(self, tensors):
        kind = ctypes.POINTER(self.lib.types["adz_tensor"])
        self.lists = getattr(self, "lists", [])
        self.lists.append((kind * len(tensors))(*tensors))
        return self.lib.adz_tensor_list_of(self.lists[-1], len(tensors))

    def back(self, t, like):
        made = torch.empty_like(like)
        ctypes.memmove(made.data_ptr(), self.lib.adz_tensor_data(t), made.numel() * made.element_size())
        return made

    def set_lr(self, group, lr):
        self.their.param_groups[group]["lr"] = lr
        self.lib.adz_optimizer_set(self.our, group, b"lr", lr)

    def step(self, t):
        self.lib.adz_optimizer_zero_grad(self.our)
        for i, (w, v) in enumerate(zip(self.theirs, self.ours)):
            gone = i > 0 and self.rng.random() < 0.1
            g = torch.randn(w.shape, dtype=self.dtype) + 0.2 * torch.tanh(w.detach())
            g = g * self.rng.choice((1e-3, 1.0, 1.0, 30.0))
            g[torch.rand(g.shape) < 0.05] = 0
            w.grad = None if gone else g
            if not gone:
                self.lib.adz_tensor_set_grad(v, self.lib.adz_detach(self.leaf(g)))
        if t == STEPS // 3:
            self.set_lr(0, 0.02)
        self.their.step()
        self.lib.adz_optimizer_step(self.our)

    def compare(self, t):
        worst = max(apart(self.back(v, w), w.detach()) for w, v in zip(self.theirs, self.ours))
        if not worst <= TOLERANCES[self.dtype]:
            raise SystemExit(f"step {t + 1}, {worst:.3g} apart: {self.said}")
        return worst

    def save(self, path):
        checkpoint = self.lib.types["adz_checkpoint"]()
        self.lib.adz_checkpoint_init(checkpoint, ctypes.sizeof(checkpoint))
        checkpoint.optimizer = self.our
        self.lib.adz_checkpoint_save(checkpoint, path.encode())

    def compare_states(self, path):
        """The states of adze's file are PyTorch's. Then each side goes on from the other's states."""
        self.save(path)
        tensors, metadata = adze_state.read(path)
        loaded = adze_state.optimizer_state(tensors, metadata, self.their)
        worst, saved = 0.0, self.their.state_dict()
        assert saved["state"].keys() == loaded["state"].keys(), self.said
        for index, entry in saved["state"].items():
            assert {k for k, v in entry.items() if v is not None} == loaded["state"][index].keys(), self.said
            for name, value in loaded["state"][index].items():
                theirs = torch.as_tensor(entry[name], dtype=torch.float64)
                value = torch.as_tensor(value, dtype=torch.float64)
                off = apart(value.reshape(theirs.shape), theirs)
                if not off <= 10 * TOLERANCES[self.dtype] or tuple(value.shape) != tuple(theirs.shape):
                    raise SystemExit(f"{name} of {index}, {off:.3g} apart: {self.said}")
                worst = max(worst, off)
        for group, theirs in zip(loaded["param_groups"], saved["param_groups"]):
            for key, value in theirs.items():
                assert group[key] == value or (key == "adjust_lr_fn" and value is None), (key, self.said)
        tensors, text = adze_state._state_to_adze(self.their)
        adze_state.write(path, tensors, {"adze_checkpoint": "2", "epoch": "0", "step": "0", "optimizer": text})
        checkpoint = self.lib.types["adz_checkpoint"]()
        self.lib.adz_checkpoint_init(checkpoint, ctypes.sizeof(checkpoint))
        checkpoint.optimizer = self.our
        self.lib.adz_checkpoint_load(checkpoint, path.encode())
        self.their.load_state_dict(loaded)
        return worst


def optimizers(lib, cases, folder):
    for kind in KINDS:
        if not hasattr(torch.optim, kind):
            print(f"{kind}: this PyTorch has none")
            continue
        worst = {}
        for case in range(cases):
            rng = random.Random(f"{kind} {case}")
            torch.manual_seed(case)
            dtype = torch.float64 if case % 4 else torch.float32
            torch.set_default_dtype(dtype)
            scope = lib.adz_scope_open()
            both = Both(lib, rng, kind, dtype)
            bfloat16 = torch.bfloat16
            torch.bfloat16 = dtype # adze's iterations of Muon have the dtype of the parameter
            for t in range(STEPS if case % 4 else STEPS // 4):
                step = lib.adz_scope_open()
                both.step(t)
                lib.adz_scope_close(step)
                worst[dtype] = max(worst.get(dtype, 0), both.compare(t))
                if t == STEPS // 5:
                    torch.bfloat16 = bfloat16
                    worst[dtype] = max(worst[dtype], both.compare_states(os.path.join(folder, "states")))
                    torch.bfloat16 = dtype
            torch.bfloat16 = bfloat16
            torch.set_default_dtype(torch.float32)
            lib.adz_optimizer_release(both.our)
            lib.adz_scope_close(scope)
        print(f"{kind}: " + ", ".join(f"{str(d)[6:]} {w:.2g} apart" for d, w in sorted(worst.items(), key=str)))


# ---- schedules -----------------------------------------------------------------------------------------------------


def factor(epoch):
    return 1 - 0.03 * (epoch % 7)


class Schedules:
    """Makes a schedule on both sides, by name."""

    def __init__(self, lib, rng, their, our):
        self.lib, self.rng, self.their, self.our = lib, rng, their, our
        self.kept = lib.adz_lr_lambda(lambda epoch, group, user: factor(epoch))

    def pair(self, name):
        r, lib, their, our = self.rng, self.lib, self.their, self.our
        n, f, pick = r.randint(1, 12), r.uniform(0.05, 1), r.choice
        call = ctypes.cast(self.kept, ctypes.c_void_p)
        if name == "StepLR":
            return lr_scheduler.StepLR(their, n, f), lib.adz_step_lr_new(our, n, f)
        if name == "ExponentialLR":
            return lr_scheduler.ExponentialLR(their, f), lib.adz_exponential_lr_new(our, f)
        if name == "LinearLR":
            return lr_scheduler.LinearLR(their, f, 0.9, n), lib.adz_linear_lr_new(our, f, 0.9, n)
        if name == "ConstantLR":
            return lr_scheduler.ConstantLR(their, f, n), lib.adz_constant_lr_new(our, f, n)
        if name == "PolynomialLR":
            power = pick((0.0, 1.0, r.uniform(0.2, 3)))
            return lr_scheduler.PolynomialLR(their, n, power), lib.adz_polynomial_lr_new(our, n, power)
        if name == "MultiplicativeLR":
            return lr_scheduler.MultiplicativeLR(their, factor), lib.adz_multiplicative_lr_new(our, call, None)
        if name == "LambdaLR":
            return lr_scheduler.LambdaLR(their, factor), lib.adz_lambda_lr_new(our, call, None)
        if name == "CosineAnnealingLR":
            return lr_scheduler.CosineAnnealingLR(their, n), lib.adz_cosine_annealing_lr_new(our, n, 0)
        if name == "CosineAnnealingWarmRestarts":
            return (lr_scheduler.CosineAnnealingWarmRestarts(their, n, 2),
                    lib.adz_cosine_annealing_warm_restarts_new(our, n, 2, 0))
        if name == "SWALR":
            epochs, how = r.randint(0, 12), pick(("cos", "linear"))
            options = lib.options("adz_swa_lr_options", anneal_epochs=epochs, anneal_strategy=how == "linear")
            return SWALR(their, f, epochs, how), lib.adz_swa_lr_new(our, f, options)
        up, down, mode = r.randint(1, 8), pick((None, r.randint(1, 8))), pick(("triangular", "triangular2", "exp_range"))
        gamma, cycles = r.uniform(0.8, 1), flag(r)
        options = lib.options("adz_cyclic_lr_options", step_size_up=up, step_size_down=down or 0,
                              mode=("triangular", "triangular2", "exp_range").index(mode), gamma=gamma,
                              cycle_momentum=cycles)
        return (lr_scheduler.CyclicLR(their, 0.01, f, up, down, mode, gamma, cycle_momentum=cycles),
                lib.adz_cyclic_lr_new(our, 0.01, f, options))

    def composed(self, name):
        plain = ["StepLR", "ExponentialLR", "LinearLR", "ConstantLR", "PolynomialLR", "MultiplicativeLR",
                 "CosineAnnealingLR", "LambdaLR", "CosineAnnealingWarmRestarts"]
        pairs = [self.pair(self.rng.choice(plain)) for _ in range(self.rng.randint(1, 4))]
        parts = (ctypes.POINTER(self.lib.types["adz_scheduler"]) * len(pairs))(*(ours for _, ours in pairs))
        if name == "ChainedScheduler":
            made = (lr_scheduler.ChainedScheduler([theirs for theirs, _ in pairs]),
                    self.lib.adz_chained_scheduler_new(parts, len(pairs)))
        else:
            at = sorted(self.rng.randint(1, 25) for _ in pairs[1:])
            made = (lr_scheduler.SequentialLR(self.their, [theirs for theirs, _ in pairs], at),
                    self.lib.adz_sequential_lr_new(self.our, parts, len(pairs),
                                                   (ctypes.c_int64 * len(at))(*at), len(at)))
        for _, ours in pairs:
            self.lib.adz_scheduler_release(ours)
        return made


def schedules(lib, cases):
    global compared
    names = ("ConstantLR", "PolynomialLR", "MultiplicativeLR", "CyclicLR", "SWALR", "ChainedScheduler", "SequentialLR")
    for name in names:
        worst = 0.0
        for case in range(10 * cases):
            rng = random.Random(f"{name} {case}")
            weights = [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]
            their = torch.optim.SGD([{"params": weights[:1], "lr": 0.3}, {"params": weights[1:], "lr": 0.7}],
                                    momentum=0.5)
            scope = lib.adz_scope_open()
            kind = ctypes.POINTER(lib.types["adz_tensor"])
            lists = [(kind * 1)(lib.adz_requires_grad_(lib.adz_zeros(lib.shape(2), lib.ADZ_F32), True))
                     for _ in range(2)]
            our = lib.adz_sgd_new(lib.adz_tensor_list_of(lists[0], 1), 0.3,
                                  lib.options("adz_sgd_options", momentum=0.5))
            lib.adz_optimizer_add_param_group(our, lib.adz_tensor_list_of(lists[1], 1))
            lib.adz_optimizer_set(our, 1, b"lr", 0.7)
            made = Schedules(lib, rng, their, our)
            theirs, ours = made.composed(name) if name in names[-2:] else made.pair(name)
            for t in range(40):
                for group in range(2):
                    for key in ("lr", "momentum"):
                        a = lib.adz_optimizer_get(our, group, key.encode())
                        b = their.param_groups[group][key]
                        worst = max(worst, abs(a - b) / (1e-6 + abs(b)))
                        compared += 1
                        if not abs(a - b) <= 1e-12 * (1e-3 + abs(b)) + 1e-14:
                            raise SystemExit(f"{name}, case {case}, step {t}: {key} is {a}, not {b}")
                their.step()
                theirs.step()
                lib.adz_scheduler_step(ours)
            lib.adz_scheduler_release(ours)
            lib.adz_optimizer_release(our)
            lib.adz_scope_close(scope)
        print(f"{name}: {worst:.2g} apart")


def main():
    lib = Library(sys.argv[1], sys.argv[2])
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    if not hasattr(torch.optim, "Muon"):
        print(f"skipped: PyTorch {torch.__version__} has no Muon")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        optimizers(lib, cases, folder)
    schedules(lib, cases)
    print(f"{compared} numbers compared")


if __name__ == "__main__":
    main()
