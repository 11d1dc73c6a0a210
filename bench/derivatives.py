#!/usr/bin/env python3
"""Compares derivatives for solvers with torch.func, torch.compile and jitted JAX, round by round in turn, on one thread.

    derivatives.py ADZE_BENCH [--row jacobian,jacobians,jvp,hvp,pinn,ode,implicit,kepler] [--sides torch,compile,jax,jax-0.4.31]
                   [--rounds 7] [--json]

bench/derivatives.c describes the rows. All sides start from the weights and data of adze's. If their first values
differ, the script ends with 1. JAX 0.4.31 is a side besides today's. In row ode the sides of torch need torchdiffeq, and
diffrax is another side if it is installed. Only the ratios mean something, because other work on the machine slows all sides.
"""

import os
import sys

import sides

STEPS = {"jacobian": (20000, 300), "jacobians": (400, 60), "jvp": (1000, 100), "hvp": (8000, 300), "pinn": (600, 100),
         "ode": (200, 20), "implicit": (300, 30), "kepler": (2000, 100)}  # adze, peers
TOLERANCE = {"jacobian": 1e-12, "jacobians": 1e-12, "jvp": 1e-4, "hvp": 1e-4, "pinn": 1e-4,
             "ode": 1e-3, "implicit": 1e-6, "kepler": 1e-9}
SIZES = {"jacobian": (6, 64, 64, 6), "jacobians": (6, 64, 64, 6), "jvp": (64, 256, 256, 64), "hvp": (13, 50, 1), "pinn": (1, 32, 32, 1),
         "ode": (2, 50, 2), "implicit": (8, 50, 8), "kepler": ()}
SOLVERS = ("ode", "implicit", "kepler")
ITERATIONS = 6


# ---- the sides of the peers ---------------------------------------------------------------------------------

def kepler_loss(cos, sin, c, mean):
    e = mean
    for _ in range(ITERATIONS):
        e = e - (e - c * sin(e) - mean) / (1 - c * cos(e))
    return ((cos(e) - c) ** 2).sum()


def torch_solver(row, w, x, target, net, fast):
    """The gradient that a row of bench/derivatives.c computes, as a function without arguments."""
    import torch
    from torch import func
    if row == "kepler":
        x.requires_grad_(True)
        loss = fast(lambda x: kepler_loss(torch.cos, torch.sin, x, target))
        return lambda: torch.autograd.grad(loss(x), x)[0]
    for t in w.values():
        t.requires_grad_(True)
    leaves = list(w.values())
    if row == "ode":
        from torchdiffeq import odeint
        times = torch.linspace(0, 10, 100, dtype=x.dtype)
        slope = fast(lambda t, y: net(w, y))

        def solve():
            y = odeint(slope, x, times, rtol=1e-6, atol=1e-8, method="dopri5")
            return torch.autograd.grad(y.square().mean(), leaves)[0]
        return solve

    def layer(w, z, x):
        return x + 0.3 * net(w, z) - z
    jacobian = func.vmap(func.jacrev(layer, 1), (None, 0, 0))
    step = fast(lambda w, z, x: z - torch.linalg.solve(jacobian(w, z, x), layer(w, z, x)))

    def implicit():
        z = x
        with torch.no_grad():
            while layer(w, z, x).abs().max() > 1e-10:
                z = step(w, z, x)
            u = torch.linalg.solve(jacobian(w, z, x).mT, 2 * z / z.numel())
        return torch.autograd.grad(layer(w, z, x), leaves, -u)[0]
    return implicit


def torch_work(row, given, compiled):
    import torch
    from torch import func
    torch.set_num_threads(1)
    x, target, v = given.pop("x"), given.pop("target", None), given.pop("v", None)
    activation = torch.relu if row == "hvp" else torch.tanh
    w = dict(given)

    def net(w, x):
        layers = len(SIZES[row]) - 1
        for i in range(layers):
            x = torch.nn.functional.linear(x, w[f"{2 * i}.weight"], w[f"{2 * i}.bias"])
            x = activation(x) if i + 1 < layers else x
        return x

    fast = (lambda f: torch.compile(f, mode="max-autotune-no-cudagraphs")) if compiled else lambda f: f
    if row in SOLVERS:
        work = torch_solver(row, w, x, target, net, fast)
        return (lambda: work().square().mean().item()), work
    if row.startswith("jacobian"):
        work = fast(func.vmap(func.jacrev(lambda x: net(w, x))))
        return (lambda: work(x).square().mean().item()), (lambda: work(x))
    if row == "jvp":
        work = fast(lambda x, v: func.jvp(lambda x: net(w, x), (x,), (v,))[1])
        return (lambda: work(x, v).square().mean().item()), (lambda: work(x, v))
    if row == "hvp":
        def loss(w):
            return (net(w, x) - target).square().mean()
        work = fast(lambda v: func.vjp(func.grad(loss), w)[1](v)[0])
        return (lambda: work(w)["0.weight"].square().mean().item()), (lambda: work(w))
    for t in w.values():
        t.requires_grad_(True)
    adam = torch.optim.Adam(w.values(), lr=0.001, fused=True)
    first = func.grad(lambda x, w: net(w, x[None])[0, 0])
    second = func.vmap(func.grad(lambda x, w: first(x, w)[0]), (0, None))

    def loss_of():
        return (second(x, w) - target).square().mean()
    loss_of = fast(loss_of)

    def step():
        adam.zero_grad(set_to_none=True)
        loss_of().backward()
        adam.step()
    return (lambda: loss_of().item()), step


def jax_solve(slope, y, times, w):
    from jax.experimental.ode import odeint
    return odeint(lambda y, t, w: slope(t, y, w), y, times, w, rtol=1e-6, atol=1e-8)


def diffrax_solve(slope, y, times, w):
    import diffrax
    return diffrax.diffeqsolve(diffrax.ODETerm(slope), diffrax.Dopri5(), times[0], times[-1], None, y, w,
                               saveat=diffrax.SaveAt(ts=times),
                               stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-8)).ys


def jax_solver(row, w, x, target, net, diffrax):
    import jax
    from jax import numpy as jnp
    if row == "kepler":
        work = jax.jit(jax.grad(lambda x: kepler_loss(jnp.cos, jnp.sin, x, target)))
        return lambda: work(x)
    if row == "ode":
        times = jnp.linspace(0, 10, 100)
        solve = diffrax_solve if diffrax else jax_solve

        def loss(w):
            return jnp.mean(solve(lambda t, y, w: net(w, y), x, times, w) ** 2)
    else:
        def layer(w, z, x):
            return x + 0.3 * net(w, z) - z

        def root(f, z):
            def step(z):
                return z - jnp.linalg.solve(jax.jacrev(f)(z), f(z))
            return jax.lax.while_loop(lambda z: jnp.max(jnp.abs(f(z))) > 1e-10, step, z)

        def tangent(g, y):
            return jnp.linalg.solve(jax.jacrev(g)(y), y)

        def solve(w, x):
            return jax.lax.custom_root(lambda z: layer(w, z, x), x, root, tangent)

        def loss(w):
            return jnp.mean(jax.vmap(solve, (None, 0))(w, x) ** 2)
    work = jax.jit(jax.grad(loss))
    return lambda: work(w)["0.weight"]


def jax_work(row, given, diffrax):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    import jax
    from jax import numpy as jnp
    jax.config.update("jax_enable_x64", True)
    w = {name: jnp.asarray(t) for name, t in given.items()}
    x, target, v = w.pop("x"), w.pop("target", None), w.pop("v", None)
    activation = jax.nn.relu if row == "hvp" else jnp.tanh

    def net(w, x):
        layers = len(SIZES[row]) - 1
        for i in range(layers):
            x = x @ w[f"{2 * i}.weight"].T + w[f"{2 * i}.bias"]
            x = activation(x) if i + 1 < layers else x
        return x

    if row in SOLVERS:
        work = jax_solver(row, w, x, target, net, diffrax)
        return (lambda: float(jnp.mean(work() ** 2))), (lambda: work().block_until_ready())
    if row.startswith("jacobian"):
        work = jax.jit(jax.vmap(jax.jacrev(net, 1), (None, 0)))
        return (lambda: float(jnp.mean(work(w, x) ** 2))), (lambda: work(w, x).block_until_ready())
    if row == "jvp":
        work = jax.jit(lambda w, x, v: jax.jvp(lambda x: net(w, x), (x,), (v,))[1])
        return (lambda: float(jnp.mean(work(w, x, v) ** 2))), (lambda: work(w, x, v).block_until_ready())
    if row == "hvp":
        gradient = jax.grad(lambda w: jnp.mean((net(w, x) - target) ** 2))
        work = jax.jit(lambda w, v: jax.jvp(gradient, (w,), (v,))[1])
        return (lambda: float(jnp.mean(work(w, w)["0.weight"] ** 2))), (
            lambda: jax.block_until_ready(work(w, w)))
    first = jax.grad(lambda x, w: net(w, x[None])[0, 0])
    second = jax.vmap(jax.grad(lambda x, w: first(x, w)[0]), (0, None))

    def loss(w):
        return jnp.mean((second(x, w) - target) ** 2)
    from jax_ffn import adam
    begin, update = adam(1e-3, 0, 0)
    step = jax.jit(lambda w, s: update(w, jax.grad(loss)(w), s), donate_argnums=(0, 1))
    state = [{name: jnp.array(t) for name, t in w.items()}, begin(w)]

    def train():
        state[:] = step(*state)
        jax.block_until_ready(state[0])
    return (lambda: float(loss(w))), train


def peer_side(side, row, start):
    if side in ("torch", "compile"):
        from turns import load_start
        first, step = torch_work(row, load_start(start), side == "compile")
    else:
        from start_file import read_start
        first, step = jax_work(row, read_start(start), side == "diffrax")
    sides.answer(row, STEPS[row][1], first, step)


def facts_of(row):
    return {"tolerance": TOLERANCE[row], "captured": True,
            "least": "forward" if row == "jvp" else "products"}


def command_of(program, row):
    return [program, "derivatives", row, "--rounds", "--json", "--steps", str(STEPS[row][0])]


def main():
    if sys.argv[1:2] == ["--side"]:
        return peer_side(*sys.argv[2:5])
    return sides.main(__file__, __doc__.splitlines()[0], STEPS, facts_of, command_of,
                      extra=lambda row: ("diffrax",) if row == "ode" else ())


if __name__ == "__main__":
    if sys.argv[1:2] != ["--side"]:
        from peers import run_with
        run_with("torch")
    sys.exit(main())
