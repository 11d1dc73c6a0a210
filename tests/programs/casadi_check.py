#!/usr/bin/env python3
"""CasADi loads what ship has written: derivatives and solutions are those of CasADi's own expression of the network.

usage: casadi_check.py SHIP [ENVIRONMENT]

The packages casadi, numpy and onnx are taken from the folder ENVIRONMENT, a virtual environment that is made if it is
missing. Exits with 77 if they cannot be had.
"""

import os
import subprocess
import sys
import tempfile

PACKAGES = ["casadi==3.8.2", "numpy", "onnx"]
HERE = os.path.dirname(os.path.abspath(__file__))


def enter_environment(folder):
    """Runs this script again with the interpreter of the environment."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        commands = [[sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "--quiet", *PACKAGES]]
        for command in commands:
            if subprocess.run(command).returncode != 0:
                print("the packages cannot be had: skipped")
                sys.exit(77)
    os.execv(python, [python, __file__, os.path.abspath(sys.argv[1])])


def ship(onnx, name, folder):
    subprocess.run([SHIP, onnx, "--c", f"{folder}/{name}.c", "--casadi", "--hessian", "--check"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"{folder}/{name}_casadi.c", "-o", f"{folder}/{name}.so", "-lm"],
                   check=True)
    return ca.external(name, f"{folder}/{name}.so")


def derivatives(f, n_states, n_controls, n_out):
    """What CasADi makes of a function of a state and a control, with a direction v and weights u."""
    z, v, u = (ca.MX.sym(name, n) for name, n in zip("zvu", (n_states + n_controls, n_states + n_controls, n_out)))
    y = f(z[:n_states], z[n_states:])
    hessian = ca.hessian(ca.dot(u, y), z)[0]
    return ca.Function("all", [z, v, u], [y, ca.jacobian(y, z), ca.jtimes(y, z, v), ca.jtimes(y, z, u, True), hessian])


def solution(f, n_states, n_controls):
    z = ca.MX.sym("z", n_states + n_controls)
    y = f(z[:n_states], z[n_states:])
    problem = {"x": z, "f": ca.sumsqr(y - 0.3) + 0.1 * ca.sumsqr(z - 0.2), "g": y[0]}
    solver = ca.nlpsol("s", "ipopt", problem, {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"})
    result = solver(x0=np.ones(n_states + n_controls), lbg=-0.1, ubg=0.2)
    return np.array(result["x"]), solver.stats()["iter_count"], solver.stats()["return_status"]


def check(widths, n_states, folder):
    """A network of a state and a control, whose concatenation goes through layers with tanh."""
    weights = laws.make_weights(widths, np.random.default_rng(2))
    n_controls, n_out, name = widths[0] - n_states, widths[-1], f"law{widths[1]}"
    laws.write_onnx(f"{folder}/{name}.onnx", weights, n_states)

    def own(state, control):
        return laws.expression(weights, ca.vertcat(state, control))
    theirs = ship(f"{folder}/{name}.onnx", name, folder)
    a, b = (derivatives(f, n_states, n_controls, n_out) for f in (theirs, own))
    rng, worst = np.random.default_rng(0), 0
    for _ in range(20):
        given = [rng.standard_normal(widths[0]), rng.standard_normal(widths[0]), rng.standard_normal(n_out)]
        for ours, right in zip(a(*given), b(*given)):
            worst = max(worst, float(abs(np.array(ours - right)).max() / abs(np.array(right)).max()))
    assert worst < 1e-11, f"{name}: derivatives differ by {worst}"
    points = [rng.standard_normal((n, 64)) for n in (widths[0], widths[0], n_out)]
    parallel, serial = a.map(64, "thread", 2)(*points), b.map(64)(*points)
    across = max(float(ca.norm_inf(ca.vec(p - q))) for p, q in zip(parallel, serial))
    assert across < 1e-10, f"{name}: two threads differ by {across}"
    (x, n, status), (own_x, own_n, own_status) = (solution(f, n_states, n_controls) for f in (theirs, own))
    assert (n, status) == (own_n, own_status) and status == "Solve_Succeeded", (n, status, own_n, own_status)
    assert abs(x - own_x).max() < 1e-7, (x, own_x)
    generated(theirs, n_states, n_controls, name, folder)
    print(f"{name}: derivatives within {worst:.1e} of the largest element, {n} iterations with both")


def generated(f, n_states, n_controls, name, folder):
    """C that CasADi generates calls the functions, so that solvers which compile it can link them."""
    x, u = ca.MX.sym("x", n_states), ca.MX.sym("u", n_controls)
    y = f(x, u)
    caller = ca.Function("caller", [x, u], [y, ca.jacobian(y, x)])
    code = ca.CodeGenerator(f"{name}_caller.c")
    code.add(caller)
    code.generate(f"{folder}/")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"{name}_caller.c", f"{folder}/{name}.so", "-o",
                    f"{name}_caller.so", "-lm"], check=True, cwd=folder)
    point = np.linspace(0, 1, n_states), np.linspace(-1, 1, n_controls)
    for p, q in zip(ca.external("caller", f"{folder}/{name}_caller.so")(*point), caller(*point)):
        assert float(ca.norm_inf(ca.vec(p - q))) == 0, name


if len(sys.argv) == 3:
    enter_environment(sys.argv[2])
import casadi as ca  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, os.path.join(HERE, os.pardir, os.pardir, "bench"))
import casadi_laws as laws  # noqa: E402

SHIP = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as work:
    check((6, 32, 32, 6), 4, work)
    check((3, 8, 1), 2, work)
print("CasADi computes with ship's files what it computes by itself")
