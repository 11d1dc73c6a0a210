#!/usr/bin/env python3
"""Writes the test cases of the package onnx as files, with a list of them for `adze-onnx-suite`.

generate.py FOLDER [NAME...]      NAME: these cases alone

FOLDER/KIND/NAME holds model.onnx, input_N.pb and output_N.pb. Each line of FOLDER/cases.txt describes one case:

    KIND NAME HELD RTOL ATOL OPSET TYPES OPERATOR

HELD is 1 if all inputs and outputs are tensors whose dtype adze holds, or converts as it loads a file. ATOL is inf
where the result is drawn at random: only dtypes and shapes can be compared. TYPES are the numbers of the outputs'
element types, with commas. OPERATOR is the one that the case is about: for a case whose nodes are the body of a
function, the function's.
"""
import os
import pathlib
import shutil
import sys
import warnings

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests

HELD = {
    onnx.TensorProto.DataType.Value(name)
    for name in ("FLOAT", "DOUBLE", "INT32", "INT64", "BOOL", "FLOAT16", "BFLOAT16", "INT8", "UINT8")
}
DRAWN = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


def held(model):
    values = list(model.graph.input) + list(model.graph.output)
    return all(v.type.WhichOneof("value") == "tensor_type" and v.type.tensor_type.elem_type in HELD for v in values)


def proto(value, info):
    if hasattr(value, "SerializeToString"):
        return value
    kind = info.type.WhichOneof("value")
    make = {
        "tensor_type": numpy_helper.from_array,
        "sequence_type": numpy_helper.from_list,
        "optional_type": numpy_helper.from_optional,
        "map_type": numpy_helper.from_dict,
    }[kind]
    return make(value, info.name)


def function_name(case, functions):
    """The operator of whose function the nodes are the body; names are like test_OPERATOR_..._expanded."""
    name = case.name.split("_expanded")[0].removeprefix("test_")
    plain = name.replace("_", "")
    fitting = [f for f in functions if plain.startswith(f.lower())]
    return max(fitting, key=len) if fitting else None


def operator_of(case, bodies, functions):
    if "_expanded" in case.name:
        twin = bodies.get(case.name.split("_expanded")[0])
        name = twin or function_name(case, functions)
        if name:
            return name + ".body"
    kinds = {node.op_type for node in case.model.graph.node} - {"Constant"}
    return case.model.graph.node[-1].op_type if kinds else "Constant"


def drawn(case):
    kinds = {node.op_type for node in case.model.graph.node}
    dropout = case.name.startswith("test_training_dropout") and "zero_ratio" not in case.name
    return dropout or bool(kinds & DRAWN)


def rounding(case):
    """Elements of a transform that are 0 but for rounding have the error of its largest element."""
    if {node.op_type for node in case.model.graph.node} & {"DFT", "STFT"}:
        return max((1e-6 * float(abs(v).max()) for _, outputs in case.data_sets for v in outputs), default=0)
    return 0


def line(case, rtol, atol, operator):
    types = ",".join(str(o.type.tensor_type.elem_type) for o in case.model.graph.output)
    atol = float("inf") if drawn(case) else max(atol, rounding(case))
    opset = max(o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx")) if any(
        o.domain in ("", "ai.onnx") for o in case.model.opset_import) else 0
    return f"{case.kind} {case.name} {int(held(case.model))} {rtol:g} {atol:g} {opset} {types} {operator}\n"


def write_node_case(folder, case):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for inputs, outputs in case.data_sets:
        for word, values, infos in (("input", inputs, case.model.graph.input),
                                    ("output", outputs, case.model.graph.output)):
            for i, value in enumerate(values):
                (folder / f"{word}_{i}.pb").write_bytes(proto(value, infos[i]).SerializeToString())


def main():
    target, chosen = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    shutil.rmtree(target, ignore_errors=True)
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    bodies = {c.name: c.model.graph.node[0].op_type for c in cases if "_expanded" not in c.name}
    functions = {s.name for s in onnx.defs.get_all_schemas_with_history()}
    for case in cases:
        if chosen and case.name not in chosen:
            continue
        write_node_case(target / case.kind / case.name, case)
        lines.append(line(case, case.rtol, case.atol, operator_of(case, bodies, functions)))
    for kind in ("pytorch-converted", "pytorch-operator"):
        for case in load_model_tests(kind=kind):
            if chosen and case.name not in chosen:
                continue
            folder = target / kind / case.name
            folder.mkdir(parents=True)
            shutil.copy(os.path.join(case.model_dir, "model.onnx"), folder)
            for file in sorted(pathlib.Path(case.model_dir, "test_data_set_0").glob("*.pb")):
                shutil.copy(file, folder)
            case.model = onnx.load(folder / "model.onnx")
            lines.append(line(case, case.rtol, case.atol, operator_of(case, bodies, functions)))
    (target / "cases.txt").write_text("".join(sorted(lines)))
    print(f"{len(lines)} cases in {target}")


main()
