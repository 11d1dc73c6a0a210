#!/usr/bin/env python3
"""Random models of one node, with the outputs of onnxruntime.

usage: random_models.py FOLDER [COUNT] [SEED]

Opset, element types, shapes, attributes and inputs are drawn; model i depends on SEED and i alone. Some inputs are
initialisers, and lists of whole numbers may be sums of two. A draw that onnxruntime refuses is left out. Writes what
old_opsets.py writes; adze-onnx-suite FOLDER runs it.
"""

import random
import sys

import numpy as np
import onnx
import onnxruntime
from old_opsets import IR_VERSION, Writer
from onnx import helper, numpy_helper

NEWEST = 23  # the newest opset that is drawn
KINDS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(int64)": "i8", "tensor(int32)": "i4",
         "tensor(uint8)": "u1", "tensor(int8)": "i1", "tensor(bool)": "?"}
# onnxruntime departs from what ONNX defines: sizes of MaxPool and ConvTranspose with SAME, and the opsets before 7.
OLDEST = 7


class Draw:
    """Draws for one node."""

    def __init__(self, op, r):
        known = sorted({s.since_version for s in onnx.defs.get_all_schemas_with_history()
                        if s.name == op and s.domain == ""})
        self.r, self.op, self.kinds = r, op, {}
        self.rng = np.random.default_rng(r.getrandbits(60))
        self.opset = r.randint(max(OLDEST, known[0]), NEWEST)
        self.schema = onnx.defs.get_schema(op, self.opset, "")

    def kind(self, i):
        """The element type of input i: inputs of one type variable have one type."""
        p = self.schema.inputs[min(i, len(self.schema.inputs) - 1)]
        if p.type_str not in self.kinds:
            allowed = sorted(KINDS[t] for t in p.types if t in KINDS)
            self.kinds[p.type_str] = "f4" if "f4" in allowed and self.r.random() < 0.5 else self.r.choice(allowed)
        return self.kinds[p.type_str]

    def dims(self, least=0, most=4, zero=0.03):
        return [0 if self.r.random() < zero else self.r.choice([1, 2, 3, 4, 5]) for _ in
                range(self.r.randint(least, most))]

    def data(self, kind, shape, special=0.0):
        kind = np.dtype(kind)
        if kind.kind == "f":
            x = self.rng.standard_normal(shape) * self.r.choice([1, 3])
            if self.r.random() < special:
                edges = self.rng.choice([0, -0.0, np.inf, -np.inf, np.nan, 0.5], shape)
                x = np.where(self.rng.random(shape) < 0.3, edges, x)
            return np.asarray(x, kind)
        if kind.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        return np.asarray(self.rng.integers(0 if kind.kind == "u" else -6, 7, shape), kind)

    def x(self, least=0, most=4, zero=0.03, special=0.0):
        return self.data(self.kind(0), self.dims(least, most, zero), special)

    def like(self, shape, i=0, special=0.0):
        return self.data(self.kind(i), shape, special)

    def axis(self, rank):
        return self.r.randint(-rank if self.opset >= 11 else 0, rank - 1)

    def axes(self, rank, least):
        chosen = self.r.sample(range(rank), self.r.randint(min(least, rank), rank))
        return [a - rank if self.opset >= 11 and self.r.random() < 0.4 else a for a in chosen]

    def part(self, shape):
        """A shape that is broadcast to this one."""
        sizes = [1 if self.r.random() < 0.25 else d for d in shape]
        return sizes[self.r.randint(0, len(sizes)):] if self.r.random() < 0.5 else sizes

    def listed(self, name, values, attributes):
        """A list that older opsets have as an attribute: the inputs that it adds."""
        if name in self.schema.attributes:
            attributes[name] = values
            return []
        return [np.array(values, "i8")]


def elementwise(m):
    shape = m.dims()
    n = len(m.schema.inputs)
    if m.schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        n = m.r.randint(1, 4)
    inputs = [m.like(m.part(shape) if n > 1 and m.opset >= 8 else shape, i, 0.15) for i in range(n)]
    if m.op in ("Div", "Mod") and inputs[1].dtype.kind in "iu":
        inputs[1] = np.where(inputs[1] == 0, 3, inputs[1]).astype(inputs[1].dtype)
    attributes = {}
    if m.op == "Mod" and inputs[0].dtype.kind == "f":
        attributes["fmod"] = 1
    for name, a in m.schema.attributes.items():
        if a.type == onnx.defs.OpSchema.AttrType.FLOAT and m.r.random() < 0.7:
            attributes[name] = round(m.r.uniform(-1, 2), 3)
    return inputs, attributes


def reduction(m):
    """ONNX leaves open what the mean of nothing is, and a product of integers that overflows."""
    x, attributes = m.x(zero=0 if m.op == "ReduceMean" else 0.03), {"keepdims": m.r.randint(0, 1)}
    if m.op == "ReduceProd" and x.dtype.kind in "iu":
        x = np.sign(x)
    axes = m.axes(x.ndim, 1)
    return [x, *(m.listed("axes", axes, attributes) if axes else [])], attributes


def along_axis(m):
    x = m.x(1, 4, zero=0)
    return [x], {"axis": m.axis(x.ndim)}


def slices(m):
    x, attributes = m.x(1), {}
    axes = m.axes(x.ndim, 1)
    steps = [m.r.choice([1, 2, 3, -1, -2, 7, -9]) for _ in axes]
    # onnxruntime takes the largest end for the front where the step is negative.
    ends = [0, 1, -1, 2, -2, 3, 5, -7] + [2**31 - 1] * (min(steps) > 0)
    starts, stops = ([m.r.choice(ends) for _ in axes] for _ in range(2))
    inputs = [x, *m.listed("starts", starts, attributes), *m.listed("ends", stops, attributes),
              *m.listed("axes", axes, attributes)]
    if m.opset >= 10 and m.r.random() < 0.6:
        inputs.append(np.array(steps, "i8"))
    return inputs, attributes


def reshape(m):
    x = m.x(zero=0.06)
    shape = [d for d in x.shape if d != 1 or m.r.random() < 0.6]
    if len(shape) > 1 and m.r.random() < 0.5:
        shape[:2] = [shape[0] * shape[1]]
    if shape and m.r.random() < 0.4:
        shape[m.r.randrange(len(shape))] = -1
    return [x, np.array(shape, "i8")], {}


def transpose(m):
    x = m.x(1, 5)
    return [x], {"perm": m.r.sample(range(x.ndim), x.ndim)}


def gather(m):
    x = m.x(1, zero=0)
    axis = m.axis(x.ndim)
    size = x.shape[axis]
    at = m.rng.integers(-size if m.opset >= 11 else 0, size, m.dims(0, 2))
    return [x, at.astype(m.r.choice(["i8", "i4"]))], {"axis": axis}


def scatter(m):
    """Without a reduction, indices along the axis may not meet."""
    x = m.x(1, 3, zero=0)
    axis = m.axis(x.ndim)
    shape = [m.r.randint(1, d) for d in x.shape]
    full = [*shape]
    full[axis] = x.shape[axis]
    at = np.take(np.argsort(m.rng.random(full), axis), range(shape[axis]), axis)
    attributes = {"axis": axis}
    if "reduction" in m.schema.attributes:
        attributes["reduction"] = m.r.choice(["none", "add", "mul"] + ["min", "max"] * (m.opset >= 18))
        if attributes["reduction"] != "none":
            at = m.rng.integers(-x.shape[axis], x.shape[axis], shape)
    return [x, at, m.like(shape)], attributes


def concat(m):
    shape = m.dims(1)
    axis = m.axis(len(shape))
    parts = []
    for _ in range(m.r.randint(1, 4)):
        shape[axis] = m.r.randint(0, 3)
        parts.append(m.like(shape))
    return parts, {"axis": axis}


def pad(m):
    x, attributes = m.x(1, zero=0), {"mode": m.r.choice(["constant", "edge"])}
    pads = [m.r.randint(-1 if s > 2 else 0, 3) for s in x.shape * 2]
    return [x, *m.listed("pads", pads, attributes)], attributes


def windows(m, size):
    a = {"kernel_shape": size, "strides": [m.r.randint(1, 3) for _ in size],
         "pads": [m.r.randint(0, min(2, s - 1)) for s in size * 2]}
    if "ceil_mode" in m.schema.attributes and m.op == "MaxPool":
        a["ceil_mode"] = m.r.randint(0, 1)
    if "count_include_pad" in m.schema.attributes:
        a["count_include_pad"] = m.r.randint(0, 1)
    return a


def pool(m):
    n = m.r.randint(1, 3)
    x = m.like([*m.dims(2, 2, 0), *(m.r.randint(3, 8) for _ in range(n))])
    return [x], windows(m, [m.r.randint(1, 3) for _ in range(n)])


def conv(m):
    n, group, wide = m.r.randint(1, 3), m.r.choice([1, 1, 2, 3]), m.r.randint(1, 2)
    size, out = [m.r.randint(1, 3) for _ in range(n)], group * m.r.randint(1, 2)
    x = m.like([m.r.randint(1, 3), group * wide, *(m.r.randint(4, 7) for _ in range(n))])
    w = m.like([group * wide, out // group, *size] if m.op == "ConvTranspose" else [out, wide, *size], 1)
    more = [m.like([out])] if m.op != "ConvInteger" and m.r.random() < 0.6 else []
    return [x, w, *more], windows(m, size) | {"group": group}


def matmul(m):
    lead, inner = m.dims(0, 2), m.r.randint(1, 4)
    return [m.like([*m.part(lead), m.r.randint(1, 4), inner]), m.like([*m.part(lead), inner, m.r.randint(1, 4)], 1)], {}


def gemm(m):
    (i, j, k), ta, tb = m.dims(3, 3, 0), m.r.randint(0, 1), m.r.randint(0, 1)
    a, b = m.like([k, i] if ta else [i, k]), m.like([j, k] if tb else [k, j])
    return [a, b, m.like(m.part([i, j]))], {"transA": ta, "transB": tb, "alpha": 2.0, "beta": 1.0}


def norm(m):
    x = m.x(2, 4, zero=0)
    sizes = [m.like([x.shape[1]], i) for i in (1, 2)]
    more = [m.like([x.shape[1]], 3), np.abs(m.like([x.shape[1]], 4))] if m.op == "BatchNormalization" else []
    return [x, *sizes, *more], {"epsilon": 1e-2}


def layer_norm(m):
    x = m.x(1, 4, zero=0)
    axis = m.axis(x.ndim)
    return [x, m.like(x.shape[axis:], 1), m.like(x.shape[axis:], 2)], {"axis": axis, "epsilon": 1e-2}


MAKERS = {name: maker for names, maker in (
    ("Abs Acos Add And Asin Asinh Atan Ceil Cos Cosh Div Elu Equal Erf Exp Floor Greater HardSigmoid IsNaN LeakyRelu "
     "Less Log Max Mean Min Mod Mul Neg Not Or Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt "
     "Sub Sum Tanh Where Xor", elementwise),
    (" ".join("Reduce" + n for n in "L1 L2 LogSumExp Max Mean Min Prod Sum SumSquare".split()), reduction),
    ("ArgMax ArgMin Flatten Hardmax LogSoftmax Softmax", along_axis),
    ("Slice", slices), ("Reshape", reshape), ("Transpose", transpose), ("Gather", gather), ("ScatterElements", scatter),
    ("Concat", concat), ("Pad", pad), ("AveragePool LpPool MaxPool", pool), ("Conv ConvInteger ConvTranspose", conv),
    ("MatMul MatMulInteger", matmul), ("Gemm", gemm), ("BatchNormalization InstanceNormalization", norm),
    ("LayerNormalization", layer_norm)) for name in names.split()}


def model_of(m, inputs, attributes):
    """A model whose inputs are partly initialisers, and its feeds."""
    nodes, weights, feeds, names = [], [], {}, []
    for i, value in enumerate(map(np.asarray, inputs)):
        name = f"x{i}"
        names.append(name)
        way = m.r.random()
        if way < 0.15 and value.dtype == np.int64:
            weights += [numpy_helper.from_array(value, name + "_a"), numpy_helper.from_array(np.int64(0), name + "_b")]
            nodes.append(helper.make_node("Add", [name + "_a", name + "_b"], [name]))
        elif way < 0.35 or i > 0 and m.op in ("Slice", "Pad", "Reshape"):
            weights.append(numpy_helper.from_array(value, name))
        else:
            feeds[name] = value
    nodes.append(helper.make_node(m.op, names, ["y"], name=f"the_{m.op}", **attributes))
    ports = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for n, v in feeds.items()]
    graph = helper.make_graph(nodes, "g", ports, [onnx.ValueInfoProto(name="y")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", m.opset)], ir_version=IR_VERSION)
    return model.SerializeToString(), feeds


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    onnxruntime.set_default_logger_severity(4)
    w, names, refused = Writer(sys.argv[1]), sorted(MAKERS), 0
    for i in range(count):
        m = Draw(names[i % len(names)], random.Random(f"{seed} {i}"))
        data, feeds = model_of(m, *MAKERS[m.op](m))
        try:
            session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
            outputs = session.run(None, feeds)
        except Exception:  # onnxruntime has no common class
            refused += 1
            continue
        w.write(f"{m.op}_{i}", m.opset, m.op, data, feeds.values(), outputs)
    (w.folder / "cases.txt").write_text("".join(w.lines), encoding="utf-8")
    print(f"{len(w.lines)} random models; onnxruntime refuses {refused} more")


if __name__ == "__main__":
    main()
