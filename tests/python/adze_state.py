"""Weights and optimizer state between adze and PyTorch, with nothing but torch.

    model.load_state_dict(load_weights("model.safetensors"), strict=True)
    save_weights(model.state_dict(), "model.safetensors")

    load_checkpoint("run.safetensors", model, optimizer)         # from adz_checkpoint_save
    save_checkpoint("run.safetensors", model, optimizer)         # for adz_checkpoint_load

The files are in safetensors form: 8 bytes, little-endian, with the length of a header; the header, a
JSON object that gives each tensor's dtype, shape and position; the tensors' bytes, little-endian, row
by row, without gaps.
"""

import ctypes
import json
import os
import struct

import torch

DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
MOST_HEADER = 100_000_000


class FormatError(ValueError):
    """A file that is not what it claims to be."""


# ---- the format ------------------------------------------------------------------------------------


def _no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise FormatError("a name stands twice in the header")
    return dict(pairs)


def _read_header(data):
    if len(data) < 8:
        raise FormatError("shorter than the length of its header")
    (length,) = struct.unpack("<Q", data[:8])
    if length > MOST_HEADER or length > len(data) - 8:
        raise FormatError(f"a header of {length} bytes does not fit")
    try:
        header = json.loads(data[8:8 + length].decode("utf-8"), object_pairs_hook=_no_duplicates)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FormatError(f"the header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise FormatError("the header is no JSON object")
    return header, 8 + length


def _read_tensor(name, entry, data):
    dtype = DTYPES.get(entry["dtype"])
    if dtype is None:
        raise FormatError(f"{name} has the dtype {entry['dtype']}")
    begin, end = entry["data_offsets"]
    count = 1
    for size in entry["shape"]:
        count *= size
    width = torch.empty(0, dtype=dtype).element_size()
    if not 0 <= begin <= end <= len(data) or end - begin != count * width:
        raise FormatError(f"{name}{entry['shape']} does not fit its {end - begin} bytes")
    if count == 0:
        return torch.empty(entry["shape"], dtype=dtype)
    return torch.frombuffer(bytearray(data[begin:end]), dtype=dtype).reshape(entry["shape"])


def read(path):
    """The tensors of a file by name, and its metadata."""
    with open(path, "rb") as stream:
        data = stream.read()
    header, start = _read_header(data)
    metadata = header.pop("__metadata__", {})
    tensors, at = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        tensors[name] = _read_tensor(name, entry, data[start:])
        if entry["data_offsets"][0] != at:
            raise FormatError(f"{name} does not follow the tensor before it")
        at = entry["data_offsets"][1]
    if at != len(data) - start:
        raise FormatError("bytes that belong to no tensor")
    return tensors, metadata


def write(path, tensors, metadata=None):
    """Writes tensors by name; metadata is a dict of strings."""
    header, parts, at = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        data = ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    with open(path + ".new", "wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
    os.replace(path + ".new", path)


# ---- weights ---------------------------------------------------------------------------------------


def _with_aliases(tensors, metadata):
    """A tied tensor is stored once; the metadata gives its other names."""
    for alias, kept in metadata.items():
        if alias not in tensors and kept in tensors:
            tensors[alias] = tensors[kept]
    return tensors


def _without_aliases(state):
    """The tensors under their first names, and {other name: first name}."""
    kept, aliases, first = {}, {}, {}
    for name, tensor in state.items():
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        if tensor.numel() and key in first:
            aliases[name] = first[key]
        else:
            first[key] = name
            kept[name] = tensor
    return kept, aliases


def load_weights(path):
    """A state_dict from a file of adz_module_save."""
    return _with_aliases(*read(path))


def save_weights(state, path):
    """Writes a state_dict for adz_module_load."""
    kept, aliases = _without_aliases(state)
    write(path, kept, {"format": "pt", **aliases})


# ---- optimizers ------------------------------------------------------------------------------------


# PyTorch's settings of several numbers, and adze's names of each.
TUPLES = {
    "betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max"),
    "eps": ("eps1", "eps2"), "ns_coefficients": ("ns_a", "ns_b", "ns_c"),
}
ADJUST_LR = ("original", "match_rms_adamw", "spectral_unclamped")


def _group_from_adze(group, like):
    """adze's settings of a group as PyTorch's; what adze does not know stays as `like` has it."""
    result = {**like, **{key: value for key, value in group.items() if key in like}}
    for key, names in TUPLES.items():
        if isinstance(like.get(key), tuple):
            result[key] = tuple(None if name == "eps1" and group[name] < 0 else group[name] for name in names)
    if "adjust_lr_fn" in like:
        result["adjust_lr_fn"] = ADJUST_LR[int(group["adjust_lr_fn"])]
    if "ns_steps" in like:
        result["ns_steps"] = int(group["ns_steps"])
    if "initial_lr" in group:
        result["initial_lr"] = group["initial_lr"]
    return result


def _group_to_adze(group):
    # What PyTorch 1.13 does not have yet is off there.
    result = {"maximize": False, "decoupled_weight_decay": False}
    for key, value in group.items():
        if key in TUPLES and isinstance(value, (tuple, list)):
            result.update((name, -1.0 if part is None else float(part)) for name, part in zip(TUPLES[key], value))
        elif key == "adjust_lr_fn":
            result[key] = float(ADJUST_LR.index(value or "original"))
        elif key == "params" or isinstance(value, bool):
            result[key] = value
        elif isinstance(value, (int, float)):
            result[key] = float(value)
    return result


def optimizer_state(tensors, metadata, optimizer):
    """What optimizer.load_state_dict takes, from a checkpoint's tensors and metadata."""
    stored = json.loads(metadata["optimizer"])
    own = optimizer.state_dict()["param_groups"]
    kind = type(optimizer).__name__
    if stored["name"] != kind or len(stored["param_groups"]) != len(own):
        raise FormatError(f"the file's optimizer is a {stored['name']} with "
                          f"{len(stored['param_groups'])} groups, this one a {kind} with {len(own)}")
    state = {}
    for name, tensor in tensors.items():
        if name.startswith("state."):
            _, index, what = name.split(".", 2)
            value = torch.tensor(float(tensor)) if what == "step" else tensor
            state.setdefault(int(index), {})[what] = value
    if kind == "RMSprop":  # which counts in a plain number, in PyTorch 1.13
        for entry in state.values():
            entry["step"] = int(entry["step"])
    groups = [_group_from_adze(group, like) for group, like in zip(stored["param_groups"], own)]
    return {"state": state, "param_groups": groups}


def _state_to_adze(optimizer):
    """The tensors and the metadata of an optimizer."""
    saved = optimizer.state_dict()
    tensors = {}
    for index, entry in saved["state"].items():
        for what, value in entry.items():
            if what == "step":
                tensors[f"state.{index}.step"] = torch.tensor(int(value), dtype=torch.int64)
            elif isinstance(value, torch.Tensor):
                tensors[f"state.{index}.{what}"] = value
    groups = [_group_to_adze(group) for group in saved["param_groups"]]
    return tensors, json.dumps({"name": type(optimizer).__name__, "param_groups": groups})


def load_checkpoint(path, model, optimizer=None):
    """Restores a model, strictly, and its optimizer from a file of adz_checkpoint_save. Returns
    epoch and step. The parameters have the order of model.parameters() on both sides."""
    tensors, metadata = read(path)
    if metadata.get("adze_checkpoint") != "2":
        raise FormatError(f"{path} is no checkpoint of version 2")
    named = _with_aliases(dict(tensors), metadata)
    weights = {name[len("model."):]: tensor for name, tensor in named.items()
               if name.startswith("model.")}
    state = optimizer_state(tensors, metadata, optimizer) if optimizer is not None else None
    model.load_state_dict(weights, strict=True)
    if optimizer is not None:
        optimizer.load_state_dict(state)
    return int(metadata["epoch"]), int(metadata["step"])


def save_checkpoint(path, model, optimizer=None, epoch=0, step=0):
    """Writes a model and its optimizer for adz_checkpoint_load."""
    metadata = {"adze_checkpoint": "2", "epoch": str(epoch), "step": str(step)}
    kept, aliases = _without_aliases(model.state_dict())
    tensors = {"model." + name: tensor for name, tensor in kept.items()}
    metadata.update({"model." + alias: "model." + name for alias, name in aliases.items()})
    if optimizer is not None:
        state, metadata["optimizer"] = _state_to_adze(optimizer)
        tensors.update(state)
    write(path, tensors, metadata)
