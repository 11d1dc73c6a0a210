#!/usr/bin/env python3
"""What exported ONNX files compute: onnx.checker accepts them, and onnxruntime's outputs are adze's.

usage: onnx_check.py WRITE_NETWORKS [ENVIRONMENT]

WRITE_NETWORKS is the program of tests/export/write_networks.c. The packages onnx, onnxruntime and
numpy are taken from the folder ENVIRONMENT, a virtual environment that is made if it is missing.
Exits with 77 if they cannot be had.
"""

import json
import os
import subprocess
import sys
import tempfile

PACKAGES = ["numpy", "onnx", "onnxruntime"]
TOLERANCE = 1e-5


def enter_environment(folder):
    """Runs this script again with the interpreter of the environment."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        made = subprocess.run([sys.executable, "-m", "venv", folder])
        if made.returncode != 0:
            sys.exit(77)
    have = "import " + ", ".join(PACKAGES)
    if subprocess.run([python, "-c", have], stderr=subprocess.DEVNULL).returncode != 0:
        got = subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES])
        if got.returncode != 0:
            print("onnx and onnxruntime cannot be installed: skipped")
            sys.exit(77)
    os.execv(python, [python, os.path.abspath(__file__), sys.argv[1]])


def read_safetensors(path):
    import numpy
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "BOOL": "?"}
    with open(path, "rb") as stream:
        data = stream.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = numpy.frombuffer(data[8 + size + begin:8 + size + end], types[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def run(path, options, x):
    """The output of onnxruntime, or of ONNX's reference where that has no kernel for f64."""
    import onnx.reference
    import onnxruntime
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return session.run(None, {"x": x})[0]
    except Exception as error:
        lacks = "NOT_IMPLEMENTED" in str(error) or "does not support double" in str(error)
        if not (lacks and path.endswith("_f64.onnx")):
            raise
    return onnx.reference.ReferenceEvaluator(path).run(None, {"x": x})[0]


def check(folder, name):
    import numpy
    import onnx
    import onnxruntime
    path = os.path.join(folder, name + ".onnx")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    tensors = read_safetensors(os.path.join(folder, name + ".safetensors"))
    worst = 0.0
    for i in "01":
        if "x" + i in tensors:
            y = run(path, options, tensors["x" + i])
            expected = tensors["y" + i]
            assert y.shape == expected.shape, f"{y.shape} instead of {expected.shape}"
            assert y.dtype == expected.dtype, f"{y.dtype} instead of {expected.dtype}"
            scale = max(1.0, float(numpy.abs(expected).max(initial=0)))
            worst = max(worst, float(numpy.abs(y - expected).max(initial=0)) / scale)
    assert worst <= TOLERANCE, f"the outputs differ by {worst:g}"
    return len(model.graph.node), worst


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        failed += subprocess.run([sys.argv[1], folder]).returncode != 0
        names = sorted(f[:-5] for f in os.listdir(folder) if f.endswith(".onnx"))
        for name in names:
            try:
                nodes, worst = check(folder, name)
                print(f"{name:24} {nodes:4} nodes, differs by {worst:.1e}")
            except Exception as error:  # whatever the packages raise is a finding
                failed += 1
                print(f"{name:24} FAILED: {error}")
    if not names:
        sys.exit("no network was written")
    print(f"{len(names)} networks, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        enter_environment(sys.argv[2])
    sys.exit(main())
