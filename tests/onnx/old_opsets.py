#!/usr/bin/env python3
"""Models of one node in the opsets in which operators had other meanings, with the outputs of onnxruntime.

usage: old_opsets.py FOLDER

Writes FOLDER/cases.txt and a folder for each model, as generate.py does; adze-onnx-suite FOLDER runs them. Needs the
Python packages numpy, onnx and onnxruntime.
"""

import itertools
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

RNG = np.random.default_rng(0)
IR_VERSION = 8
SAME = ("SAME_UPPER", "SAME_LOWER", "VALID")
PADS = ([0, 1, 2, 0], [1, 1, 1, 1], [2, 0, 1, 1])


def floats(*shape):
    return RNG.standard_normal(shape).astype("f4")


def whole(*numbers):
    return np.array(numbers)


class Writer:
    def __init__(self, folder):
        self.folder, self.lines = pathlib.Path(folder), []

    def case(self, opset, op, inputs, constants=(), outputs=1, **attributes):
        """A node of the inputs and the constants; onnxruntime must run it."""
        names = [f"x{i}" for i in range(len(inputs) + len(constants))]
        results = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(op, names, results, **attributes)
        feeds = dict(zip(names, inputs))
        graph = helper.make_graph(
            [node], "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                          for n, v in feeds.items()], [onnx.ValueInfoProto(name=r) for r in results],
            [numpy_helper.from_array(v, n) for n, v in zip(names[len(inputs):], constants)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)
        data = model.SerializeToString()
        values = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, feeds)
        self.write(f"{op}_{opset}_{len(self.lines)}", opset, op, data, inputs, values)

    def write(self, name, opset, op, data, inputs, outputs):
        place = self.folder / "node" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "model.onnx").write_bytes(data)
        for word, values in (("input", inputs), ("output", outputs)):
            for i, value in enumerate(values):
                (place / f"{word}_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
        types = ",".join(str(helper.np_dtype_to_tensor_dtype(y.dtype)) for y in outputs)
        self.lines.append(f"node {name} 1 1e-4 1e-6 {opset} {types} {op}\n")


def activations(w):
    for op, axis, opset in itertools.product(("Softmax", "LogSoftmax", "Hardmax"), (0, 1, 2, -1), (7, 11, 13)):
        if opset >= 11 or axis >= 0:
            w.case(opset, op, [floats(2, 3, 4)], axis=axis)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        w.case(7, op, [floats(2, 3, 4)])
    w.case(7, "Clip", [floats(3, 4)], min=-0.5, max=0.5)
    w.case(10, "Clip", [floats(3, 4)], max=0.5)
    w.case(11, "Clip", [floats(3, 4)], [np.array(-0.2, "f4")])
    w.case(12, "Clip", [np.arange(-5, 5)], [np.array(-2), np.array(3)])
    for op, opset, attributes in (("Selu", 7, {}), ("Elu", 7, {"alpha": 0.3}), ("LeakyRelu", 7, {}),
                                  ("HardSigmoid", 7, {"alpha": 0.3, "beta": 0.4}),
                                  ("ThresholdedRelu", 10, {"alpha": 0.2})):
        w.case(opset, op, [floats(9)], **attributes)
    w.case(7, "PRelu", [floats(2, 3, 4)], [floats(3, 1)])
    w.case(9, "PRelu", [floats(2, 3, 4)], [floats(1)])
    for opset in (7, 10, 12, 13):
        w.case(opset, "Dropout", [floats(3, 4)], **({"ratio": 0.3} if opset < 12 else {}))


def norms(w):
    for opset in (7, 9, 14, 15):
        w.case(opset, "BatchNormalization", [floats(2, 3, 4)], [np.abs(floats(3)) for _ in range(4)], epsilon=1e-3)
    for size in (1, 3, 5):
        w.case(7, "LRN", [floats(2, 6, 3, 3)], size=size, alpha=0.5, beta=0.6, bias=2.0)
    w.case(7, "InstanceNormalization", [floats(2, 3, 5)], [floats(3), floats(3)])
    w.case(18, "GroupNormalization", [floats(2, 4, 3)], [floats(2), floats(2)], num_groups=2)
    w.case(21, "GroupNormalization", [floats(2, 4, 3)], [floats(4), floats(4)], num_groups=2)
    w.case(7, "LpNormalization", [floats(2, 4, 3)], p=1, axis=1)
    w.case(9, "MeanVarianceNormalization", [floats(2, 3, 4, 4)])


def windows(w):
    for rule, step in itertools.product(SAME, (1, 2, 3)):
        strides = {"auto_pad": rule, "strides": [step, step]}
        w.case(7, "Conv", [floats(1, 2, 7, 8)], [floats(3, 2, 3, 2), floats(3)], **strides)
        w.case(7, "ConvTranspose", [floats(1, 2, 4, 5)], [floats(2, 3, 3, 4)], **strides)
        for op, more in (("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}),
                         ("LpPool", {"p": 3})):
            w.case(7, op, [floats(1, 2, 7, 8)], kernel_shape=[3, 2], **strides, **more)
    for pads in PADS:
        w.case(11, "Conv", [floats(1, 2, 7, 8)], [floats(3, 2, 3, 2)], pads=pads, dilations=[2, 1])
        w.case(11, "ConvTranspose", [floats(1, 2, 4, 5)], [floats(2, 3, 3, 4), floats(3)], pads=pads, strides=[2, 3],
               output_padding=[1, 1])
    for pads, ceil in itertools.product(PADS, (0, 1)):
        steps = {"pads": pads, "kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": ceil}
        x = floats(2, 2, 7, 8)
        w.case(12, "MaxPool", [x], outputs=2, **steps)
        w.case(12, "MaxPool", [x], outputs=2, storage_order=1, **steps)
        w.case(12, "MaxPool", [x], pads=pads, kernel_shape=[3, 3], dilations=[2, 1], ceil_mode=ceil)
        for include in (0, 1):
            w.case(11, "AveragePool", [x], count_include_pad=include, **steps)
            w.case(19, "AveragePool", [x], count_include_pad=include, dilations=[1, 2], **steps)
    w.case(7, "GlobalLpPool", [floats(2, 3, 4, 4)], p=3)
    w.case(16, "GridSample", [floats(1, 2, 4, 5), floats(1, 3, 3, 2) * np.float32(0.6)], mode="bicubic",
           padding_mode="reflection")


def moves(w):
    for opset in (7, 10):
        for pads, more in (([1, 0, 2, 1, 2, 0], {"value": 1.5}), ([1, 0, 2, 1, 2, 0], {"mode": "reflect"}),
                           ([-1, 0, 2, 1, -1, 0], {}), ([-1, 0, 2, 1, -1, 0], {"mode": "edge"})):
            w.case(opset, "Pad", [floats(3, 3, 4)], pads=pads, **more)
    w.case(9, "Scatter", [floats(2, 5), np.array([[1, 3], [0, 2]]), floats(2, 2)], axis=1)
    w.case(9, "OneHot", [whole(1, -1, 7, 3)], [whole(5), np.array([2, 5], "f4")], axis=0)
    w.case(11, "GatherND", [floats(2, 3, 4), np.array([[0, 1], [1, -1]])])
    w.case(7, "DepthToSpace", [floats(1, 8, 2, 3)], blocksize=2)
    w.case(10, "ReverseSequence", [floats(3, 4, 2), whole(1, 4, 2)], batch_axis=0, time_axis=1)


def orders(w):
    w.case(9, "TopK", [floats(2, 5)], outputs=2, k=2, axis=1)
    w.case(10, "TopK", [floats(2, 5)], [whole(3)], outputs=2)
    w.case(11, "TopK", [floats(4, 5)], [whole(3)], outputs=2, largest=0, axis=0)
    w.case(11, "CumSum", [floats(3, 4)], [np.array(1, "i4")], exclusive=1, reverse=1)
    w.case(11, "Unique", [np.array([3, 1, 3, 2, 1], "f4")], outputs=4, sorted=0)
    boxes = np.sort(RNG.random((2, 9, 4)).astype("f4"), -1)
    w.case(10, "NonMaxSuppression", [boxes, RNG.random((2, 3, 9)).astype("f4")], [whole(4), np.array([0.3], "f4")])
    w.case(17, "DFT", [floats(2, 9, 1)], axis=1, onesided=1)
    w.case(12, "Einsum", [floats(2, 3, 4), floats(2, 4, 5)], equation="bij,bjk->bik")


def main():
    onnxruntime.set_default_logger_severity(4)
    w = Writer(sys.argv[1])
    for group in (activations, norms, windows, moves, orders):
        group(w)
    (w.folder / "cases.txt").write_text("".join(w.lines), encoding="utf-8")
    print(f"{len(w.lines)} models of old opsets")


if __name__ == "__main__":
    main()
