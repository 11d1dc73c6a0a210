#!/usr/bin/env python3
"""Model predictive controllers whose model is a trained network: ship's functions against CasADi's expression.

    casadi_controllers.py SHIP [--models pendulum,quadrotor] [--compiler "gcc -O3 -march=native"] [--solves 20] [--json]

A network learns in PyTorch how a pendulum or a planar quadrotor moves in a time step, and torch.onnx.export writes it.
ship turns the file into functions for casadi.external. ipopt solves the same problem by multiple shooting three times,
in turns: with ship's functions, with CasADi's expression of the same weights, and with that expression as a function
that CasADi evaluates as it does by default. All have exact Hessians. The figures are the iterations, the best value and
the shortest time of a solve. The script ends with 1 unless all solves succeed, with equal numbers of iterations. Needs the
Python packages casadi, numpy and torch.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import casadi as ca
import numpy as np
import torch

STEP = 0.05


def pendulum(x, u):
    """x = angle from hanging, speed; u = torque."""
    return np.stack([x[:, 1], -9.81 * np.sin(x[:, 0]) - 0.1 * x[:, 1] + 6 * u[:, 0]], 1)


def quadrotor(x, u):
    """x = place (2), tilt, their speeds; u = thrusts of two rotors above those that carry it."""
    thrust, turn = 9.81 + u[:, 0] + u[:, 1], 10 * (u[:, 0] - u[:, 1])
    return np.stack([x[:, 3], x[:, 4], x[:, 5], -thrust * np.sin(x[:, 2]), thrust * np.cos(x[:, 2]) - 9.81, turn], 1)


# The motion, widths of the hidden layers, the range of states and controls, the start, the goal, the horizon.
MODELS = {
    "pendulum": (pendulum, (32, 32), [3.5, 8], [3], [0, 0], [np.pi, 0], 40),
    "quadrotor": (quadrotor, (64, 64), [3, 3, 1, 3, 3, 4], [4, 4], [1, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], 20),
}


class Model(torch.nn.Module):
    """The next state from a state and a control."""

    def __init__(self, n_states, n_controls, hidden):
        super().__init__()
        widths = [n_states + n_controls, *hidden]
        self.hidden = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.out = torch.nn.Linear(widths[-1], n_states)

    def forward(self, state, control):
        h = torch.cat([state, control], 1)
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return state + self.out(h)


def train(name):
    motion, hidden, state_range, control_range, *_ = MODELS[name]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2000, len(state_range))) * state_range
    u = rng.uniform(-1, 1, (2000, len(control_range))) * control_range
    after, parts = x, 5
    for _ in range(parts):
        after = after + STEP / parts * motion(after, u)
    x, u, after = (torch.tensor(a, dtype=torch.float64) for a in (x, u, after))
    model = Model(x.shape[1], u.shape[1], hidden).double()
    adam = torch.optim.Adam(model.parameters(), 3e-3)
    for step in range(1000):
        adam.param_groups[0]["lr"] = 3e-3 * (1 - step / 1000)
        loss = ((model(x, u) - after) / STEP).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return model.float()


def expression(model, x, u):
    """CasADi's own, of matrices."""
    h = ca.vertcat(x, u)
    for layer in model.hidden:
        h = ca.tanh(ca.mtimes(ca.DM(layer.weight.detach().double().numpy()), h) +
                    ca.DM(layer.bias.detach().double().numpy()))
    return x + ca.mtimes(ca.DM(model.out.weight.detach().double().numpy()), h) + \
        ca.DM(model.out.bias.detach().double().numpy())


def controller(name, step):
    _, _, state_range, control_range, start, goal, horizon = MODELS[name]
    n, m = len(state_range), len(control_range)
    xs, us = ca.MX.sym("xs", n, horizon + 1), ca.MX.sym("us", m, horizon)
    cost, equal = 0, [xs[:, 0] - ca.DM(start)]
    for k in range(horizon):
        cost += ca.sumsqr(xs[:, k] - ca.DM(goal)) + 0.05 * ca.sumsqr(us[:, k])
        equal.append(xs[:, k + 1] - step(xs[:, k], us[:, k]))
    cost += 20 * ca.sumsqr(xs[:, horizon] - ca.DM(goal))
    free = ca.vertcat(ca.vec(xs), ca.vec(us))
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.max_iter": 300}
    solver = ca.nlpsol("solver", "ipopt", {"x": free, "f": cost, "g": ca.vertcat(*equal)}, options)
    most = np.concatenate([np.full(n * (horizon + 1), np.inf), np.tile(control_range, horizon)])
    first = np.concatenate([np.linspace(start, goal, horizon + 1).ravel(), np.zeros(m * horizon)])
    return lambda: (solver(x0=first, lbx=-most, ubx=most, lbg=0, ubg=0), solver.stats())


def ship_step(o, model, folder):
    n, m = model.out.out_features, model.hidden[0].in_features - model.out.out_features
    torch.onnx.export(model, (torch.zeros(1, n), torch.zeros(1, m)), f"{folder}/model.onnx", dynamo=False,
                      input_names=["state", "control"], output_names=["next"])
    subprocess.run([o.ship, f"{folder}/model.onnx", "--c", f"{folder}/model.c", "--casadi", "--hessian", "--check"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*o.compiler.split(), "-shared", "-fPIC", "model_casadi.c", "-o", "model.so", "-lm"], cwd=folder,
                   check=True)
    return ca.external("model", f"{folder}/model.so")


def compare(name, o):
    with tempfile.TemporaryDirectory() as folder:
        model = train(name)
        n, m = model.out.out_features, model.hidden[0].in_features - model.out.out_features
        x, u = ca.MX.sym("x", n), ca.MX.sym("u", m)
        sides = {"ship": ship_step(o, model, folder), "expression": lambda x, u: expression(model, x, u),
                 "function": ca.Function("own", [x, u], [expression(model, x, u)])}
        solvers = {side: controller(name, step) for side, step in sides.items()}
        row = {side: {"seconds": float("inf")} for side in solvers}
        for _ in range(o.solves):
            for side, solve in solvers.items():
                began = time.perf_counter()
                solution, stats = solve()
                took = time.perf_counter() - began
                row[side] = {"iterations": stats["iter_count"], "status": stats["return_status"],
                             "value": float(solution["f"]), "seconds": min(row[side]["seconds"], took)}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ship")
    parser.add_argument("--models", default="pendulum,quadrotor")
    parser.add_argument("--compiler", default="gcc -O3 -march=native")
    parser.add_argument("--solves", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    o = parser.parse_args()
    o.ship = str(pathlib.Path(o.ship).resolve())
    good = True
    for name in o.models.split(","):
        row = compare(name, o)
        good = good and len({side["iterations"] for side in row.values()}) == 1
        good = good and all(side["status"] == "Solve_Succeeded" for side in row.values())
        if o.json:
            print(json.dumps({name: row}), flush=True)
            continue
        for side, result in row.items():
            print(f"{name}, {side}: {result['iterations']} iterations, {result['status']}, value "
                  f"{result['value']:.9g}, {1e3 * result['seconds']:.1f} ms, ship is {row['ship']['seconds'] / result['seconds']:.2f} of it",
                  flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
