#!/usr/bin/env python3
"""Compares loops of many small steps with jitted JAX and PyTorch, round by round in turn, on one thread.

    loops.py ADZE_BENCH [--row gru1-forward,gru1,gru16-forward,gru16,pendulum,kepler8,kepler10000,kalman]
             [--sides jax,jax-0.4.31] [--rounds 7] [--least] [--json]

bench/loops.c describes the rows, and bench/loops_by_hand.c is the floor of some. The side "written" is the row as
the C that adze writes, compiled by cc -O3 -march=native. JAX loops by lax.scan and
lax.while_loop; its side takes the unrolling of 1 or 4 steps that is faster. The side "torch" is PyTorch's loop in
Python, which torch.compile would unroll. If the first values of the sides differ, the script ends with 1. Only the
ratios mean something, because other work on the machine slows all sides.
"""

import os
import sys
import time

import sides

STEPS = {"gru1-forward": (400, 60), "gru1": (200, 40), "gru16-forward": (200, 20), "gru16": (200, 10),
         "pendulum": (400, 100), "kepler8": (20000, 400), "kepler10000": (200, 40), "kalman": (200, 20)}  # adze, peers
TOLERANCE = {"gru1-forward": 1e-4, "gru1": 1e-3, "gru16-forward": 1e-3, "gru16": 1e-3,
             "pendulum": 1e-7, "kepler8": 1e-9, "kepler10000": 1e-9, "kalman": 1e-7}
UNITS, LENGTH, MEASUREMENTS, STEP = 32, 1000, 500, 0.01


# ---- the steps, which the peers share. `m` has sigmoid, tanh, sin, cos, log and exp ----------------------------

def cell(m, w, b, h, x):
    g = h @ w.T + b
    both = m.sigmoid(x[:, :2 * UNITS] + g[:, :2 * UNITS])
    r, z = both[:, :UNITS], both[:, UNITS:]
    n = m.tanh(x[:, 2 * UNITS:] + r * g[:, 2 * UNITS:])
    return n + z * (h - n)


def advance(m, p, y):
    def slope(y):
        return y[1], -(p[0] * m.sin(y[0]) + p[1] * y[1])

    def ahead(k, step):
        return tuple(a + step * b for a, b in zip(y, k))
    a = slope(y)
    b = slope(ahead(a, STEP / 2))
    c = slope(ahead(b, STEP / 2))
    d = slope(ahead(c, STEP))
    return tuple(v + STEP / 6 * (ka + kd + 2 * (kb + kc)) for v, ka, kb, kc, kd in zip(y, a, b, c, d))


def kepler_error(m, e, c, mean):
    return e - c * m.sin(e) - mean


def newton_step(m, e, c, mean):
    return e - kepler_error(m, e, c, mean) / (1 - c * m.cos(e))


def filter_step(m, mean, spread, z, f, q, noise):
    """The 2 x 2 system is solved by its determinant, which takes half as long in JAX as solve and slogdet."""
    mean = f @ mean
    p = f @ spread @ f.T + q
    hp = p[:2]
    v = z - mean[:2]
    a, b, c, d = p[0, 0] + noise, p[0, 1], p[1, 0], p[1, 1] + noise
    det = a * d - b * c
    inverse = m.stack([m.stack([d, -b]), m.stack([-c, a])]) / det
    gain = hp.T @ inverse
    return mean + gain @ v, p - gain @ hp, (v * (inverse @ v)).sum() + m.log(det)


# ---- JAX -----------------------------------------------------------------------------------------------------

class JaxNames:
    def __init__(self, jax):
        from jax import numpy as jnp
        self.sigmoid, self.tanh = jax.nn.sigmoid, jnp.tanh
        self.sin, self.cos, self.log, self.exp, self.stack = jnp.sin, jnp.cos, jnp.log, jnp.exp, jnp.stack


def jax_loss(jax, m, row, given, unroll):
    """The loss by the two parameters, by a scan."""
    from jax import numpy as jnp
    x = given.get("x")
    if row.startswith("gru"):
        def loss(p):
            def body(h, x):
                h = cell(m, p[0], p[1], h, x)
                return h, h
            return jnp.mean(jax.lax.scan(body, jnp.zeros((x.shape[1], UNITS), x.dtype), x, unroll=unroll)[1] ** 2)
    elif row == "pendulum":
        def loss(p):
            def body(y, _):
                y = advance(m, p, y)
                return y, y[0]
            start = (jnp.asarray(1.0), jnp.asarray(0.0))
            return jnp.mean(jax.lax.scan(body, start, None, length=LENGTH, unroll=unroll)[1] ** 2)
    else:
        def loss(p):
            f, q = given["constants"][:4], given["constants"][4:] * m.exp(p[0])
            noise = m.exp(p[1])

            def body(estimate, z):
                *estimate, cost = filter_step(m, *estimate, z, f, q, noise)
                return tuple(estimate), cost
            return jnp.sum(jax.lax.scan(body, (jnp.zeros((4, 1)), jnp.eye(4)), x, unroll=unroll)[1])
    return loss


def jax_tangent(jax, m, given):
    from jax import numpy as jnp

    def solve(c):
        mean = given["x"]
        return jax.lax.while_loop(lambda e: jnp.max(jnp.abs(kepler_error(m, e, c, mean))) > 1e-14,
                                  lambda e: newton_step(m, e, c, mean), mean)
    return lambda c: jax.jvp(solve, (c,), (given["constants"],))[1]


def faster(jax, works):
    """The work that takes less time."""
    def seconds(work):
        jax.block_until_ready(work())
        times = []
        for _ in range(10):
            start = time.perf_counter()
            jax.block_until_ready(work())
            times.append(time.perf_counter() - start)
        return min(times)
    return min(works, key=seconds)


def jax_work(row, given):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    import jax
    from jax import numpy as jnp
    jax.config.update("jax_enable_x64", True)
    given = {name: jnp.asarray(t) for name, t in given.items()}
    m = JaxNames(jax)

    def make(unroll):
        if row.startswith("kepler"):
            tangent = jax.jit(jax_tangent(jax, m, given))
            return lambda: tangent(given["p0"])
        loss = jax_loss(jax, m, row, given, unroll)
        p = (given["p0"], given["p1"])
        found = jax.jit(loss if row.endswith("forward") else jax.grad(loss))
        return (lambda: found(p)) if row.endswith("forward") else (lambda: found(p)[0])
    work = make(1) if row.startswith("kepler") else faster(jax, [make(1), make(4)])
    return (lambda: float(jnp.mean(work() ** 2))), (lambda: work().block_until_ready())


# ---- PyTorch -------------------------------------------------------------------------------------------------

def torch_work(row, given):
    import torch
    torch.set_num_threads(1)
    given = {name: torch.tensor(t) for name, t in given.items()}
    x, p = given.get("x"), [given[name] for name in ("p0", "p1") if name in given]
    if row.startswith("kepler"):
        def solve(c):
            e = x
            while kepler_error(torch, e, c, x).abs().max() > 1e-14:
                e = newton_step(torch, e, c, x)
            return e

        def tangent():
            import torch.autograd.forward_ad as forward
            with forward.dual_level():
                return forward.unpack_dual(solve(forward.make_dual(p[0], given["constants"]))).tangent
        return (lambda: tangent().square().mean().item()), tangent
    for t in p:
        t.requires_grad_(not row.endswith("forward"))

    def gru():
        h, found = x.new_zeros(x.shape[1], UNITS), []
        for t in x:
            h = cell(torch, p[0], p[1], h, t)
            found.append(h)
        return torch.stack(found).square().mean()

    def pendulum():
        y, found = (torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)), []
        for _ in range(LENGTH):
            y = advance(torch, p, y)
            found.append(y[0])
        return torch.stack(found).square().mean()

    def kalman():
        f, q, noise = given["constants"][:4], given["constants"][4:] * p[0].exp(), p[1].exp()
        estimate, costs = (x.new_zeros(4, 1), torch.eye(4, dtype=torch.float64)), []
        for z in x:
            *estimate, cost = filter_step(torch, *estimate, z, f, q, noise)
            costs.append(cost)
        return torch.stack(costs).sum()
    loss = gru if row.startswith("gru") else pendulum if row == "pendulum" else kalman
    work = loss if row.endswith("forward") else lambda: torch.autograd.grad(loss(), p)[0]
    return (lambda: work().square().mean().item()), work


def peer_side(side, row, start):
    from start_file import read_start
    first, step = torch_work(row, read_start(start)) if side == "torch" else jax_work(row, read_start(start))
    sides.answer(row, STEPS[row][1] if side != "torch" else 1, first, step)


def main():
    if sys.argv[1:2] == ["--side"]:
        return peer_side(*sys.argv[2:5])
    return sides.main(__file__, __doc__.splitlines()[0], STEPS,
                      lambda row: {"tolerance": TOLERANCE[row], "captured": True, "least": "by hand", "written": True},
                      lambda program, row: [program, "loops", row, "--rounds", "--json", "--steps", str(STEPS[row][0])],
                      names=("jax", "jax-0.4.31"))


if __name__ == "__main__":
    if sys.argv[1:2] != ["--side"]:
        from peers import run_with
        run_with("jax")
    sys.exit(main())
