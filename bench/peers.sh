#!/bin/sh
# Makes build/peers, a Python environment with the programs that adze is compared with: PyTorch, JAX, MKL and solvers of
# differential equations. build/peers/jax-0.4.31 is an environment of its own: the last JAX before a new runtime, in
# which small functions take longer. Its Python must be 3.10 to 3.13. Packages whose networks bench/onnx_files.py runs are
# left out where they cannot be had.
#
# usage: peers.sh [PACKAGE...]      other packages or versions, such as torch==2.4.0 jax mkl
#                                   into build/peers alone
#
# It serves bench/ only: neither adze nor its tests use it. Where there is no package index the scripts in
# bench/ run with Debian's PyTorch (python3-torch). The environment takes several gigabytes, because
# PyTorch's package brings libraries for graphics processors.
set -eu

install() { # FOLDER PACKAGE...
    place=$1
    shift
    if ! python3 -m venv "$place"; then
        echo "peers.sh: python3 cannot make an environment; on Debian install python3-venv" >&2
        exit 1
    fi
    if ! "$place/bin/python3" -m pip install --quiet --disable-pip-version-check "$@"; then
        echo "peers.sh: the package index cannot be reached or lacks one of: $*" >&2
        echo "peers.sh: the scripts in bench/ use Debian's PyTorch (python3-torch) where it is installed" >&2
        exit 1
    fi
    "$place/bin/python3" -m pip list --disable-pip-version-check 2>/dev/null | grep -iE '^(torch|jax|mkl|numpy|torchdiffeq|diffrax) '
}

folder=$(cd "$(dirname "$0")/.." && pwd)/build/peers
if [ $# -gt 0 ]; then
    install "$folder" "$@"
else
    install "$folder" torch jax mkl numpy torchdiffeq diffrax onnx onnxruntime onnxscript
    for package in magika rapidocr-onnxruntime ddddocr faster-whisper; do
        "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "$package" ||
            echo "peers.sh: bench/onnx_files.py leaves out the networks of $package" >&2
    done
    install "$folder/jax-0.4.31" jax==0.4.31 jaxlib==0.4.31 numpy
fi
