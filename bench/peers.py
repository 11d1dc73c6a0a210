"""Finds the Python that has what a comparison needs: the environment of peers.sh, the interpreter that runs
the script, or the distribution's."""

import functools
import glob
import importlib.util
import os
import subprocess
import sys

ENVIRONMENT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "peers")
JAX_0_4 = os.path.join(ENVIRONMENT, "jax-0.4.31", "bin", "python3")  # JAX before its new runtime
CANDIDATES = (os.path.join(ENVIRONMENT, "bin", "python3"), sys.executable, "/usr/bin/python3")


@functools.lru_cache(None)
def python_with(module):
    """The path of the first interpreter that finds a module, or None."""
    for path in CANDIDATES:
        if path == sys.executable:
            found = importlib.util.find_spec(module) is not None
        else:
            found = os.path.exists(path) and subprocess.run(
                [path, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)",
                 module], check=False).returncode == 0
        if found:
            return path
    return None


def run_with(module):
    """Goes on in an interpreter that has a module. Without one the script ends with 77 and says what to
    install."""
    path = python_with(module)
    if path is None:
        print(f"{os.path.basename(sys.argv[0])}: no Python has {module}; run bench/peers.sh, or install Debian's "
              f"python3-{module}", file=sys.stderr)
        sys.exit(77)
    if path != sys.executable:
        os.execv(path, [path, *sys.argv])


def mkl():
    """The path of MKL's library, or None."""
    found = sorted(glob.glob(os.path.join(ENVIRONMENT, "lib", "libmkl_rt.so*")))
    return found[-1] if found else None
