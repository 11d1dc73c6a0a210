#!/usr/bin/env python3
"""No function of libm whose result depends on the C library reaches a result of adze.

usage: libm.py ARCHIVE LIBM

The C library chooses between variants of exp, pow or sin by the processor, and other versions of it round
differently. The library has functions of its own: src/tensor/kernel/vmath.h and real.h. Reads the undefined symbols
of the archive's objects and names those that the shared library LIBM defines, unless ALLOWED has them.
"""

import os
import subprocess
import sys

EXACT = "its result is exact"
NEAREST = "IEEE 754 prescribes its result, the nearest number"
ALLOWED = {
    "sqrt": NEAREST, "sqrtf": NEAREST, "fma": NEAREST, "fmaf": NEAREST,
    "floor": EXACT, "floorf": EXACT, "ceil": EXACT, "ceilf": EXACT, "trunc": EXACT, "truncf": EXACT,
    "nearbyint": EXACT, "nearbyintf": EXACT, "rint": EXACT, "rintf": EXACT, "round": EXACT, "roundf": EXACT,
    "ldexp": EXACT, "ldexpf": EXACT, "frexp": EXACT, "frexpf": EXACT,
    "nextafter": EXACT, "nextafterf": EXACT, "copysign": EXACT, "copysignf": EXACT, "fmod": EXACT, "fmodf": EXACT,
    "fmax": EXACT, "fmaxf": EXACT, "fmin": EXACT, "fminf": EXACT, "fabs": EXACT, "fabsf": EXACT,
}


def defined(lines):
    """The names of functions in what nm prints of a shared library, without their versions."""
    rows = [line.split() for line in lines]
    return {row[-1].split("@")[0] for row in rows if len(row) > 1 and row[-2] in "TWi"}


def findings(lines, functions):
    """One sentence for each object and function of libm that is not allowed."""
    member = "?"
    for line in lines:
        words = line.split()
        if line.endswith(":"):
            member = line[:-1]
        elif words[:1] == ["U"] and words[-1] in functions and words[-1] not in ALLOWED:
            yield (f"{member} calls libm's {words[-1]}, which computes other bits on other processors; use vmath.h or "
                   f"real.h of src/tensor/kernel, or give the reason in tests/checks/libm.py why its bits are fixed")


def listing(*arguments):
    return subprocess.run(["nm", *arguments], check=True, capture_output=True, text=True).stdout.splitlines()


def main(archive, libm):
    if not os.path.isabs(libm) or not os.path.exists(libm):
        print(f"this C library has no {libm}, so nothing says which functions are libm's")
        return 77
    functions = defined(listing("-D", "--defined-only", libm))
    if not {"exp", "pow", "sqrt"} <= functions:
        print(f"{libm} defines no exp, pow or sqrt")
        return 1
    found = list(findings(listing("-u", archive), functions))
    print("\n".join(found) or f"no function of {libm} but exact ones is called")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
