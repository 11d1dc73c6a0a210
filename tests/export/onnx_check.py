#!/usr/bin/env python3
"""What exported ONNX files compute: onnx.checker accepts them, and onnxruntime's outputs are adze's.

usage: onnx_check.py WRITE_NETWORKS FFN_REGRESSION TEST_ONNX_SWEEP [ENVIRONMENT]

WRITE_NETWORKS is the program of tests/export/write_networks.c, FFN_REGRESSION the example, TEST_ONNX_SWEEP the program
of tests/export/onnx_sweep.c. The packages onnx, onnxruntime and numpy are taken from the folder ENVIRONMENT, a virtual
environment that is made if it is missing.
Exits with 77 if they cannot be had.
"""

import json
import os
import subprocess
import sys
import tempfile

from onnx_operators import check_operators

PACKAGES = ["numpy", "onnx", "onnxruntime"]
TOLERANCE = 1e-5


def enter_environment(folder):
    """Runs this script again with the interpreter of the environment."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        made = subprocess.run([sys.executable, "-m", "venv", folder])
        if made.returncode != 0:
            print("no virtual environment can be made: skipped")
            sys.exit(77)
    have = "import " + ", ".join(PACKAGES)
    if subprocess.run([python, "-c", have], stderr=subprocess.DEVNULL).returncode != 0:
        got = subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES])
        if got.returncode != 0:
            print("onnx and onnxruntime cannot be installed: skipped")
            sys.exit(77)
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:4]])


def read_safetensors(path):
    """The tensors of a file by name; those of bf16, which numpy lacks, are left out."""
    import numpy
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4", "BOOL": "?", "U8": "u1", "F16": "<f2"}
    with open(path, "rb") as stream:
        data = stream.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in types:
            begin, end = entry["data_offsets"]
            flat = numpy.frombuffer(data[8 + size + begin:8 + size + end], types[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def run(path, options, x):
    """The outputs of onnxruntime by name, or of ONNX's reference where that has no kernel for f64; None if the
    reference does not know the activation of a recurrent network, or reads over the lengths of its
    sequences."""
    import onnx
    import onnx.reference
    import onnxruntime
    names = [output.name for output in onnx.load(path).graph.output]
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return dict(zip(names, session.run(None, {"x": x})))
    except Exception as error:
        lacks = "NOT_IMPLEMENTED" in str(error) or "does not support double" in str(error)
        if not (lacks and path.endswith("_f64.onnx")):
            raise
    if any(len(node.input) > 4 and node.input[4] for node in onnx.load(path).graph.node
           if node.op_type in ("GRU", "LSTM", "RNN")):
        return None
    try:
        return dict(zip(names, onnx.reference.ReferenceEvaluator(path).run(None, {"x": x})))
    except RuntimeError as error:
        if "Unknown activation function" not in str(error):
            raise
        return None


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
            for output, y in (run(path, options, tensors["x" + i]) or {}).items():
                expected = tensors["y" + i] if output == "output" else tensors[f"y{i}.{output}"]
                assert y.shape == expected.shape, f"{output}: {y.shape} instead of {expected.shape}"
                assert y.dtype == expected.dtype, f"{output}: {y.dtype} instead of {expected.dtype}"
                y, expected = y.astype("f8"), expected.astype("f8")
                scale = max(1.0, float(numpy.abs(expected).max(initial=0)))
                worst = max(worst, float(numpy.abs(y - expected).max(initial=0)) / scale)
    assert worst <= TOLERANCE, f"the outputs differ by {worst:g}"
    return len(model.graph.node), worst


def check_program(folder, program, options):
    """The predictions of the exported model are those that ffn-regression writes."""
    import numpy
    import onnx
    import onnxruntime

    def call(*arguments):
        subprocess.run([program, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    call("--epochs", "3", "--plot", "none", "--save", "m.st", "--export-onnx", "m.onnx", *options)
    path = os.path.join(folder, "m.onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    rows = numpy.random.default_rng(7).normal(size=(9, 8))
    with open(os.path.join(folder, "m.st"), "rb") as stream:
        data = stream.read()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    with open(os.path.join(folder, "rows.csv"), "w") as stream:
        print(",".join(header[f"feature.{i}"] for i in range(8)), file=stream)
        for row in rows:
            print(",".join(repr(float(x)) for x in row), file=stream)
    call("--load", "m.st", "--predict", "rows.csv")
    expected = numpy.genfromtxt(os.path.join(folder, "predictions.csv"), skip_header=1)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    y = session.run(None, {"input": rows})[0].ravel()
    worst = float(numpy.abs(y - expected).max() / max(1.0, numpy.abs(expected).max()))
    assert worst <= TOLERANCE, f"the predictions differ by {worst:g}"
    return worst


def check_programs(program):
    failed = 0
    for activation in ("relu", "leaky_relu", "elu", "gelu", "silu", "tanh", "sigmoid"):
        for gated in ([], ["--gated"]):
            options = ["--activation", activation, "--hidden", "20,10", *gated]
            with tempfile.TemporaryDirectory() as folder:
                try:
                    worst = check_program(folder, program, options)
                    print(f"ffn-regression {' '.join(options)}: differs by {worst:.1e}")
                except Exception as error:  # whatever the packages raise is a finding
                    failed += 1
                    print(f"ffn-regression {' '.join(options)}: FAILED: {error}")
    return failed


def main():
    failed = check_programs(os.path.abspath(sys.argv[2]))
    failed += check_operators(os.path.abspath(sys.argv[3]), read_safetensors) > 0
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
    if len(sys.argv) > 4:
        enter_environment(sys.argv[4])
    sys.exit(main())
