"""Reads what a comparison starts from, with numpy alone: a file in safetensors form with f32 and f64 tensors."""

import json
import struct

import numpy

DTYPES = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64}


def read_start(path):
    """The tensors of a file by name."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        part = data[8 + length + begin:8 + length + end]
        found[name] = numpy.frombuffer(part, DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return found
