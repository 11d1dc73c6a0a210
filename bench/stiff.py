#!/usr/bin/env python3
"""Compares the stiff equations of bench-stiff with LSODA (scipy.integrate.odeint), round by round in turn.

    stiff.py BENCH_STIFF [--rounds 7]

LSODA calls functions of Python floats, which is the fastest way to call it from Python. Both sides get one absolute
tolerance for each element, those of tests/solvers/equations/stiff_set.h. The times are the shortest processor times of
all rounds, in milliseconds, and their ratio is adze's time over LSODA's.
"""
import argparse
import subprocess
import time
import warnings

import numpy
from scipy.integrate import odeint


def rober(t, y):
    a, b, c = y
    first, last = 1e4 * b * c - 0.04 * a, 3e7 * b * b
    return [first, -first - last, last]


def hires(t, y):
    a, b, c, d, e, f, g, h = y
    meets = 280 * f * h
    return [-1.71 * a + 0.43 * b + 8.32 * c + 0.0007, 1.71 * a - 8.75 * b, -10.03 * c + 0.43 * d + 0.035 * e,
            8.32 * b + 1.71 * c - 1.12 * d, -1.745 * e + 0.43 * f + 0.43 * g,
            -meets + 0.69 * d + 1.71 * e - 0.43 * f + 0.69 * g, meets - 1.81 * g, -meets + 1.81 * g]


def orego(t, y):
    a, b, c = y
    return [77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)]


def vdpol(t, y):
    a, b = y
    return [b, ((1 - a * a) * b - a) * 1e6]


def pollu(t, y):
    r = [0.35 * y[0], 26.6 * y[1] * y[3], 1.23e4 * y[4] * y[1], 8.6e-4 * y[6], 8.2e-4 * y[6], 1.5e4 * y[6] * y[5],
         1.3e-4 * y[8], 2.4e4 * y[8] * y[5], 1.65e4 * y[10] * y[1], 9e3 * y[10] * y[0], 0.022 * y[12],
         1.2e4 * y[9] * y[1], 1.88 * y[13], 1.63e4 * y[0] * y[5], 4.8e6 * y[2], 3.5e-4 * y[3], 0.0175 * y[3],
         1e8 * y[15], 4.44e11 * y[15], 1.24e3 * y[16] * y[5], 2.1 * y[18], 5.78 * y[18], 0.0474 * y[0] * y[3],
         1.78e3 * y[18] * y[0], 3.12 * y[19]]
    return [-r[0] - r[9] - r[13] - r[22] - r[23] + r[1] + r[2] + r[8] + r[10] + r[11] + r[21] + r[24],
            -r[1] - r[2] - r[8] - r[11] + r[0] + r[20], -r[14] + r[0] + r[16] + r[18] + r[21],
            -r[1] - r[15] - r[16] - r[22] + r[14], -r[2] + 2 * r[3] + r[5] + r[6] + r[12] + r[19],
            -r[5] - r[7] - r[13] - r[19] + r[2] + 2 * r[17], -r[3] - r[4] - r[5] + r[12], r[3] + r[4] + r[5] + r[6],
            -r[6] - r[7], -r[11] + r[6] + r[8], -r[8] - r[9] + r[7] + r[10], r[8], -r[10] + r[9], -r[12] + r[11],
            r[13], -r[17] - r[18] + r[15], -r[19], r[19], -r[20] - r[21] - r[23] + r[22] + r[24], -r[24] + r[23]]


SET = {"rober": (rober, [1, 0, 0], 1e11, [1e-2, 1e-8, 1e-2]),
       "hires": (hires, [1, 0, 0, 0, 0, 0, 0, 0.0057], 321.8122, [1e-2] * 8),
       "orego": (orego, [1, 2, 3], 360, [1] * 3),
       "vdpol": (vdpol, [2, 0], 2, [1] * 2),
       "pollu": (pollu, [0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0], 60, [1e-2] * 20)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    best, facts = {}, {}
    for _ in range(options.rounds):
        for line in subprocess.run([options.bench], capture_output=True, text=True, check=True).stdout.splitlines():
            name, tolerance, method, took, steps, calls, error = line.split()
            key = name, float(tolerance), method
            best[key] = min(best.get(key, 1e9), float(took))
            facts[key] = f"{steps:>6} steps {calls:>7} calls  error {error:>6}"
        for name, (f, y0, end, sizes) in SET.items():
            for tolerance in (1e-6, 1e-8, 1e-10):
                begin = time.process_time()
                _, info = odeint(f, y0, [0, end], rtol=tolerance, atol=tolerance * numpy.array(sizes), tfirst=True,
                                 full_output=True, mxstep=100000)
                key = name, tolerance, "lsoda"
                best[key] = min(best.get(key, 1e9), 1e3 * (time.process_time() - begin))
                facts[key] = f"{info['nst'][-1]:>6} steps {info['nfe'][-1]:>7} calls"
    for (name, tolerance, method), took in sorted(best.items()):
        ratio = took / best[name, tolerance, "lsoda"]
        print(f"{name} {tolerance:g} {method:>5} {took:8.2f} ms  {ratio:5.2f}  {facts[name, tolerance, method]}")


if __name__ == "__main__":
    main()
