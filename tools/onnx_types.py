#!/usr/bin/env python3
"""Writes src/export/generated/onnx_types.h: since when the operators of ONNX are as they are, and which dtypes and
attributes they take, for those that the writer uses.

usage: onnx_types.py SOURCE_ROOT

Needs the Python packages onnx and onnxruntime. The names of the operators are the texts in src/export/onnx_*.c,
src/ops/**/*.rows.c, src/ops/**/*.onnx.c and src/ops/**/table.h that are operators of opset 17, or parts of such texts.
What is allowed comes from the schemas of the package onnx. What runs is found by loading a model of one node with onnxruntime, on the CPU.
"""

import glob
import os
import re
import sys

import onnx
import onnx.defs
import onnxruntime
from onnx import AttributeProto, TensorProto, helper

OPSET = 17
WIDTH = 8  # inputs of one row; the last one of a variadic operator stands for all that follow
# In the order of adz_dtype.
DTYPES = [("tensor(float)", TensorProto.FLOAT), ("tensor(double)", TensorProto.DOUBLE),
          ("tensor(int32)", TensorProto.INT32), ("tensor(int64)", TensorProto.INT64),
          ("tensor(uint8)", TensorProto.UINT8), ("tensor(bool)", TensorProto.BOOL),
          ("tensor(float16)", TensorProto.FLOAT16), ("tensor(bfloat16)", TensorProto.BFLOAT16)]
KINDS = {AttributeProto.FLOAT: "f", AttributeProto.INT: "i", AttributeProto.STRING: "s", AttributeProto.FLOATS: "fs",
         AttributeProto.INTS: "is", AttributeProto.STRINGS: "ss"}
# Attributes that a node must have.
REQUIRED = {"Cast": {"to": 1}, "Concat": {"axis": 0}, "Gather": {}, "OneHot": {}, "LSTM": {"hidden_size": 1},
            "GRU": {"hidden_size": 1}, "RNN": {"hidden_size": 1}, "MaxPool": {"kernel_shape": [1]},
            "AveragePool": {"kernel_shape": [1]}}


def types_of(schema, formal):
    """The mask of the dtypes of an input or output, and the name of its constraint or None."""
    constraint = next((c for c in schema.type_constraints if c.type_param_str == formal.type_str), None)
    allowed = constraint.allowed_type_strs if constraint else [formal.type_str]
    mask = sum(1 << i for i, (text, _) in enumerate(DTYPES) if text in allowed)
    return mask, formal.type_str if constraint else None


def runs(schema, chosen):
    """Whether onnxruntime has a kernel of the operator for these dtypes of its constraints."""
    graph_inputs, names = [], []
    for i, formal in enumerate(schema.inputs):
        if formal.option == onnx.defs.OpSchema.FormalParameterOption.Optional and i > 2:
            break
        mask, constraint = types_of(schema, formal)
        dtype = chosen.get(constraint)
        if dtype is None:
            dtype = DTYPES[3][1] if mask & 8 else next(d for i, (_, d) in enumerate(DTYPES) if mask >> i & 1)
        names.append(f"i{i}")
        graph_inputs.append(helper.make_tensor_value_info(names[-1], dtype, None))
    results = [f"y{k}" for k in range(max(1, schema.min_output))]
    node = helper.make_node(schema.name, names, results, **REQUIRED.get(schema.name, {}))
    graph = helper.make_graph([node], "g", graph_inputs, [onnx.ValueInfoProto(name=y) for y in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        text = str(error)
        if "NOT_IMPLEMENTED" in text or "Type Error" in text:
            return False
        sys.exit(f"{schema.name} of {chosen}: {text}")
    return True


def row(schema):
    constraints, parts = {}, []
    for formal in list(schema.inputs)[:WIDTH]:
        mask, constraint = types_of(schema, formal)
        number = constraints.setdefault(constraint, len(constraints) + 1) if constraint else 0
        run = sum(1 << i for i, (_, dtype) in enumerate(DTYPES)
                  if mask >> i & 1 and runs(schema, {constraint: dtype} if constraint else {}))
        parts.append(f"{{ {number}, 0x{mask:02x}, 0x{run:02x} }}")
    outputs = []
    for formal in list(schema.outputs)[:3]:
        mask, constraint = types_of(schema, formal)
        outputs.append(f"{{ {constraints.get(constraint, 0)}, 0x{mask:02x}, 0x{mask:02x} }}")
    attributes = " ".join(f"{name}:{KINDS[a.type]}" for name, a in sorted(schema.attributes.items()) if a.type in KINDS)
    last = schema.inputs[-1] if schema.inputs else None
    variadic = last is not None and last.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return (f'    {{ "{schema.name}", {schema.since_version}, "{attributes}", {schema.min_input}, {min(schema.max_input, 64)}, '
            f"{'true' if variadic else 'false'},\n        {{ {', '.join(parts)} }},\n"
            f"        {{ {', '.join(outputs)} }} }},\n")


def main():
    root = sys.argv[1]
    texts = set()
    for path in (path for pattern in ("export/onnx*.c", "ops/**/*.rows.c", "ops/**/*.onnx.c", "ops/**/table.h")
                 for path in glob.glob(os.path.join(root, "src", pattern), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', stream.read()):
                texts |= set(re.findall(r"^[A-Z][A-Za-z0-9]+$|\b[A-Z][A-Za-z0-9]+(?=\()", text))
    # adaptive pooling makes the names of two nodes from parts
    texts |= {"GlobalAveragePool", "AveragePool", "MaxPool"}
    rows = []
    for text in sorted(texts):
        try:
            rows.append(row(onnx.defs.get_schema(text, OPSET, "")))
        except onnx.defs.SchemaError:
            continue
    with open(os.path.join(root, "src", "export", "generated", "onnx_types.h"), "w", encoding="utf-8") as stream:
        stream.write(f"""\
/* Which dtypes the operators of ONNX take. tools/onnx_types.py has written this file from the
 * schemas of opset {OPSET} in the Python package onnx {onnx.__version__}, and from what onnxruntime
 * {onnxruntime.__version__} loads on the CPU. Run it again after a change of the operators that the writer uses. */
#ifndef ADZI_EXPORT_ONNX_TYPES_H
#define ADZI_EXPORT_ONNX_TYPES_H

#include <stdbool.h>
#include <stdint.h>

enum {{ ADZI_ONNX_TYPED_INPUTS = {WIDTH}, ADZI_ONNX_TYPED_OUTPUTS = 3 }};

/** The dtypes of one input or output; bit d of a mask stands for adz_dtype d. */
typedef struct adzi_onnx_types {{
    uint8_t same;    /* all that have this number have one dtype; 0: the dtype is free */
    uint8_t allowed; /* by the schema; 0: there is no such input */
    uint8_t runs;    /* of these, the ones for which onnxruntime has a kernel */
}} adzi_onnx_types;

typedef struct adzi_onnx_signature {{
    const char *type;
    int since; /* the first opset in which the operator is like this */
    /* "axis:i pads:is": f, i, s for a float, integer, text; is, ss, fs for lists */
    const char *attributes;
    int least, most; /* inputs */
    bool variadic;   /* the last input stands for all that follow */
    adzi_onnx_types in[ADZI_ONNX_TYPED_INPUTS], out[ADZI_ONNX_TYPED_OUTPUTS];
}} adzi_onnx_signature;

/* clang-format off */
static const adzi_onnx_signature adzi_onnx_signatures[] = {{
{''.join(rows)}}};
/* clang-format on */

#endif
""")
    print(f"{len(rows)} operators")


if __name__ == "__main__":
    main()
