#!/usr/bin/env python3
"""Compares laws that ship has written with the C that CasADi generates for them: a value and its Jacobian, in double.

    casadi_laws.py SHIP [--laws 6-32-32-6,6-64-64-6,6-512-512-512-512-6] [--compiler "gcc -O3 -march=native"]
                   [--sides MX,SX,ONNX] [--rounds 100] [--json] [--all]

A law is a network with tanh between linear layers, in an ONNX file. ship writes it as C; CasADi builds it from the same
weights as an expression of matrices (MX) or of scalars (SX), or reads the file itself (ONNX), and generates C. One
program holds all sides, which take turns; the figure is the shortest mean time of a call in a round. The script ends
with 1 if values or Jacobians differ. SX of a law with more than 10,000 weights is left out without --all, because its
file has millions of operations. Needs the Python packages casadi (3.8 for ONNX), numpy and onnx.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import casadi as ca
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MOST_WEIGHTS_OF_SX = 10000
CALLS_FOR = 2e7  # multiply-adds in a round, about

TIMER = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "law.h"

typedef int generated(const double **, double **, long long *, double *, int);
typedef int sizes(long long *, long long *, long long *, long long *);
%(declared)s

enum { IN = %(n_in)d, OUT = %(n_out)d, SIDES = %(sides)d, CALLS = %(calls)d };
static const struct { generated *call; sizes *work; } peers[] = { { 0, 0 } %(listed)s };
static double x[IN], y[SIDES][OUT], d[SIDES][OUT * IN], *work[SIDES];
static long long *whole[SIDES];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The larger number; NaN if one is. */
static double larger(double a, double b)
{
    return a > b || a != a ? a : b;
}

static double round_of(int side, law_state *state)
{
    const double *arg[IN + OUT + 8];
    double *res[IN + OUT + 8];
    double start = now();
    int i;
    for (i = 0; i < CALLS; ++i) {
        x[0] = 0.1 + 1e-6 * i;
        if (side == 0) {
            if (law_jacobian(state, x, y[0], d[0]) != 0) exit(2);
        } else {
            arg[0] = x;
            res[0] = y[side];
            res[1] = d[side];
            if (peers[side].call(arg, res, whole[side], work[side], 0) != 0) exit(2);
        }
    }
    return (now() - start) / CALLS;
}

int main(void)
{
    static law_state state;
    double best[SIDES], worst = 0;
    int i, k, side, round;
    if (law_init(&state, sizeof state) != 0) return 2;
    for (k = 0; k < IN; ++k) x[k] = sin(1.7 * k + 1);
    for (side = 1; side < SIDES; ++side) {
        long long n[4];
        peers[side].work(&n[0], &n[1], &n[2], &n[3]);
        whole[side] = calloc((size_t)n[2] + 1, sizeof **whole);
        work[side] = calloc((size_t)n[3] + 1, sizeof **work);
    }
    for (side = 0; side < SIDES; ++side) best[side] = 1e9;
    for (round = 0; round < %(rounds)d; ++round)
        for (side = 0; side < SIDES; ++side) {
            double t = round_of(side, &state);
            if (t < best[side]) best[side] = t;
        }
    for (side = 1; side < SIDES; ++side)
        for (i = 0; i < OUT; ++i) {
            worst = larger(worst, fabs(y[0][i] - y[side][i]));
            for (k = 0; k < IN; ++k) /* CasADi has columns one after another */
                worst = larger(worst, fabs(d[0][i * IN + k] - d[side][k * OUT + i]));
        }
    printf("%%.3e", worst);
    for (side = 0; side < SIDES; ++side) printf(" %%.6e", best[side]);
    printf("\n");
    return 0;
}
"""


def make_weights(widths, rng):
    """Rows are results. The scale keeps tanh between its straight and its flat part."""
    return [(rng.standard_normal((n, k)) / k ** 0.5, rng.standard_normal(n) / 3) for k, n in zip(widths, widths[1:])]


def write_onnx(path, weights, n_states=0):
    """A network of x, or of a state and a control that are concatenated."""
    nodes, tensors, name = [], [], "x"
    width, inputs = weights[0][0].shape[1], []
    if n_states > 0:
        nodes.append(helper.make_node("Concat", ["state", "control"], ["x"], axis=1))
        inputs = [("state", n_states), ("control", width - n_states)]
    for i, (w, b) in enumerate(weights):
        tensors += [numpy_helper.from_array(w, f"w{i}"), numpy_helper.from_array(b, f"b{i}")]
        last = i == len(weights) - 1
        nodes.append(helper.make_node("Gemm", [name, f"w{i}", f"b{i}"], ["y" if last else f"h{i}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Tanh", [f"h{i}"], [f"t{i}"]))
        name = f"t{i}"
    ports = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, [1, width])
             for n, width in (*(inputs or [("x", width)]), ("y", weights[-1][0].shape[0]))]
    graph = helper.make_graph(nodes, "law", ports[:-1], ports[-1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def expression(weights, x):
    for i, (w, b) in enumerate(weights):
        x = ca.mtimes(ca.DM(w), x) + b
        x = ca.tanh(x) if i < len(weights) - 1 else x
    return x


def generate(kind, weights, folder):
    width = weights[0][0].shape[1]
    if kind == "ONNX":
        x = ca.MX.sym("x", 1, width)
        read = ca.GraphBuilder(f"{folder}/law.onnx", {}).create("read", {"symbolic": True})
        y = read.call([x], True, False)[0]
    else:
        x = getattr(ca, kind).sym("x", width)
        y = expression(weights, x)
    code = ca.CodeGenerator(f"{kind}.c")
    code.add(ca.Function(kind, [x], [y, ca.jacobian(y, x)]))
    code.generate(f"{folder}/")


def compare(law, o):
    widths = [int(word) for word in law.split("-")]
    weights = make_weights(widths, np.random.default_rng(1))
    products = sum(w.size for w, _ in weights)
    kinds = [kind for kind in o.sides if kind != "SX" or o.all or products <= MOST_WEIGHTS_OF_SX]
    with tempfile.TemporaryDirectory() as folder:
        write_onnx(f"{folder}/law.onnx", weights)
        subprocess.run([o.ship, f"{folder}/law.onnx", "--c", f"{folder}/law.c", "--f64", "--state", "caller",
                        "--jacobian"], check=True, stdout=subprocess.DEVNULL)
        for kind in kinds:
            generate(kind, weights, folder)
        text = TIMER % {
            "declared": "\n".join(f"generated {k}; sizes {k}_work;" for k in kinds), "sides": 1 + len(kinds),
            "listed": "".join(f", {{ {k}, {k}_work }}" for k in kinds), "rounds": o.rounds,
            "n_in": widths[0], "n_out": widths[-1], "calls": max(2, int(CALLS_FOR / products / 7))}
        pathlib.Path(folder, "timer.c").write_text(text, encoding="utf-8")
        for name in ["law", *kinds, "timer"]:
            subprocess.run([*o.compiler.split(), "-c", f"{name}.c"], cwd=folder, check=True)
        objects = [f"{name}.o" for name in ["law", *kinds, "timer"]]
        subprocess.run([*o.compiler.split(), *objects, "-lm", "-o", "timer"], cwd=folder, check=True)
        worst, *times = map(float, subprocess.run(["./timer"], cwd=folder, check=True, text=True,
                                                  stdout=subprocess.PIPE).stdout.split())
    return {"law": law, "difference": worst, "adze": times[0], **dict(zip(kinds, times[1:]))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ship")
    parser.add_argument("--laws", default="6-32-32-6,6-64-64-6,6-512-512-512-512-6")
    parser.add_argument("--compiler", default="gcc -O3 -march=native")
    parser.add_argument("--sides", default="MX,SX,ONNX")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--all", action="store_true")
    o = parser.parse_args()
    o.ship = str(pathlib.Path(o.ship).resolve())
    o.sides = o.sides.split(",")
    good = True
    for law in o.laws.split(","):
        row = compare(law, o)
        good = good and row["difference"] < 1e-11
        if o.json:
            print(json.dumps(row), flush=True)
            continue
        words = [f"{kind} {1e6 * row[kind]:.2f} us ({row['adze'] / row[kind]:.2f} of it)"
                 for kind in o.sides if kind in row]
        print(f"{law}: adze {1e6 * row['adze']:.2f} us; {'; '.join(words)}; difference {row['difference']:.1e}",
              flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
