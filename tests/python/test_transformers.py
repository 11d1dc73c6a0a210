#!/usr/bin/env python3
"""MultiheadAttention and the transformers against PyTorch, with random options: printed trees, values, first and
second derivatives in f64, and checkpoints both ways. Exits with 77 where there is no torch.

usage: test_transformers.py LIBADZE.so ADZE.json [CASES]
"""

import ctypes
import os
import random
import re
import sys
import tempfile

try:
    import torch
    from torch import nn
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import adze_state
from adze_table import Library

TOLERANCE = 1e-10
ACTIVATIONS = {"relu": "ADZ_ACTIVATION_RELU", "gelu": "ADZ_ACTIVATION_GELU"}
DTYPES = {torch.float64: "ADZ_F64", torch.bool: "ADZ_BOOL", torch.int64: "ADZ_I64"}
compared = 0


class Both:
    """A module of both sides, with the parameters of PyTorch's, and how PyTorch's is called."""

    def __init__(self, lib, theirs, ours, call, inputs, masks, causal=None):
        """`causal`: the names of masks, and queries and keys, to which the options of adze's side add a causal one."""
        self.lib, self.theirs, self.ours, self.call = lib, theirs, ours, call
        for module in theirs.modules(): # a copied decoder layer of PyTorch forgets a module as its activation
            if "activation" in module._modules:
                vars(module).pop("activation", None)
        self.inputs, self.masks, self.their_masks = inputs, masks, dict(masks)
        for name, shape in (causal or {}).items():
            hidden = torch.ones(*shape, dtype=torch.bool).triu(1)
            mask = masks.get(name, hidden)
            self.their_masks[name] = mask | hidden if mask.dtype == torch.bool else mask.masked_fill(hidden, -torch.inf)

    # ---- tensors ----------------------------------------------------------------------------------

    def tensor(self, t):
        t = t.detach().contiguous()
        dtype = getattr(self.lib, DTYPES[t.dtype])
        return self.lib.adz_tensor_from(ctypes.c_void_p(t.data_ptr()), self.lib.shape(*t.shape), dtype)

    def back(self, t):
        t = self.lib.adz_contiguous(t)
        shape = self.lib.adz_tensor_shape(t)
        sizes = tuple(shape.sizes[:shape.rank])
        made = torch.empty(sizes, dtype=torch.float64)
        ctypes.memmove(made.data_ptr(), self.lib.adz_tensor_data(t), made.numel() * 8)
        return made

    def list(self, tensors):
        return (ctypes.POINTER(self.lib.types["adz_tensor"]) * len(tensors))(*tensors)

    def gradients(self, ys, upstream, xs):
        o = self.lib.options("adz_backward_options", create_graph=True, allow_unused=True)
        made = self.list([None] * len(xs))
        self.lib.adz_autograd_grad(self.list(ys), self.list(upstream), len(ys), self.list(xs), len(xs), o, made)
        return list(made)

    def absent(self, t):
        return ctypes.addressof(t.contents) == ctypes.addressof(self.lib.adz_none().contents)

    # ---- comparisons ------------------------------------------------------------------------------

    def compare(self, what, got, expected):
        global compared
        if expected is None:
            expected = torch.zeros(())
            got = expected if self.absent(got) else self.back(got).abs().sum()
        else:
            got = torch.zeros_like(expected) if self.absent(got) else self.back(got)
        if got.shape != expected.shape:
            raise SystemExit(f"{what}: {tuple(got.shape)}, not {tuple(expected.shape)}")
        compared += got.numel()
        near = torch.isclose(got, expected.detach(), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        if not bool(near.all()):
            raise SystemExit(f"{what}: {float((got - expected).abs().nan_to_num().max()):.3g} apart\n{self.theirs}")

    def exchange(self, folder):
        """A file of each side is loaded by the other one."""
        path = os.path.join(folder, "state.safetensors")
        adze_state.save_weights(self.theirs.state_dict(), path)
        self.lib.adz_module_load(self.ours, path.encode(), True)
        self.lib.adz_module_save(self.ours, path.encode())
        state = adze_state.load_weights(path)
        mine = self.theirs.state_dict()
        if list(state) != list(mine):
            raise SystemExit(f"names {list(state)}, not {list(mine)}")
        for name, value in mine.items():
            if not torch.equal(value, state[name]):
                raise SystemExit(f"{name} differs after an exchange")
        self.theirs.load_state_dict(state, strict=True)

    def prints(self):
        """The printed trees. Whether a LayerNorm prints its bias depends on the version of PyTorch."""
        buffer = ctypes.create_string_buffer(20000)
        self.lib.adz_module_to_string(self.ours, buffer, len(buffer))
        mine, expected = (re.sub(r"(LayerNorm.*), bias=\w+", r"\1", text)
                          for text in (buffer.value.decode(), repr(self.theirs)))
        if mine != expected:
            raise SystemExit(f"prints\n{mine}\nnot\n{expected}")

    def results(self):
        lib = self.lib
        xs = [lib.adz_requires_grad_(self.tensor(x), True) for x in self.inputs.values()]
        named = list(zip(self.inputs, xs)) + [(name, self.tensor(mask)) for name, mask in self.masks.items()]
        given = (lib.adz_named_tensor * len(named))()
        for place, (name, t) in zip(given, named):
            place.name, place.tensor = name.encode(), t
        values = lib.adz_values_new()
        lib.adz_module_call_named(self.ours, given, len(named), values)
        ys = [lib.adz_values_at(values, i) for i in range(lib.adz_values_count(values))]
        xs += [lib.adz_module_get_parameter(self.ours, name.encode()) for name, _ in self.theirs.named_parameters()]
        return ys, xs

    def run(self):
        mine, leaves = self.results()
        with sdpa_kernel(SDPBackend.MATH): # the fused kernels have no second derivative
            ys = [y for y in self.call(self.theirs, self.inputs, self.their_masks) if y is not None]
        xs = list(self.inputs.values()) + list(self.theirs.parameters())
        if len(ys) != len(mine):
            raise SystemExit(f"{len(mine)} results, not {len(ys)}")
        for i, y in enumerate(ys):
            self.compare(f"result {i}", mine[i], y)
        upstream = [torch.randn_like(y) for y in ys]
        first = torch.autograd.grad(ys, xs, upstream, create_graph=True, allow_unused=True)
        got = self.gradients(mine, [self.tensor(u) for u in upstream], leaves)
        for i, g in enumerate(first):
            self.compare(f"gradient {i}", got[i], g)
        pairs = [(a, b, torch.randn_like(b)) for a, b in zip(got, first)
                 if b is not None and b.requires_grad and not self.absent(a)]
        second = pairs and torch.autograd.grad([b for _, b, _ in pairs], xs, [v for _, _, v in pairs], allow_unused=True)
        pairs = [(a, v) for a, _, v in pairs if self.lib.adz_tensor_requires_grad(a)]
        got = [self.lib.adz_none()] * len(xs) # adze has a graph of no gradient that is constant
        if pairs:
            got = self.gradients([a for a, _ in pairs], [self.tensor(v) for _, v in pairs], leaves)
        for i, g in enumerate(second):
            self.compare(f"second derivative {i}", got[i], g)


# ---- random cases ----------------------------------------------------------------------------------


def flip():
    return random.random() < 0.5


def leaf(length, batch, width, batch_first):
    shape = (length, width) if batch is None else (batch, length, width) if batch_first else (length, batch, width)
    return torch.randn(*shape).requires_grad_()


def some_mask(*shape):
    """A mask of either kind that leaves at least the first key to every query."""
    mask = torch.rand(*shape) < 0.4
    mask[..., 0] = False
    return mask if flip() else torch.randn(*shape).masked_fill(mask, -torch.inf)


def causal_ones(o, **attentions):
    """Sets some options that make an attention causal: option=(mask, queries, keys)."""
    made = {}
    for option, (name, *shape) in attentions.items():
        if flip():
            setattr(o, option, True)
            made[name] = shape
    return made


def masks_of(prefixes, heads, batch):
    """Masks for attentions with the names and lengths (attn_mask, key_padding_mask, L, S)."""
    made = {}
    for name, padding, queries, keys in prefixes:
        if flip():
            made[name] = some_mask(queries, keys) if flip() else some_mask((batch or 1) * heads, queries, keys)
        if flip():
            made[padding] = some_mask(keys) if batch is None else some_mask(batch, keys)
    return made


def attention(lib):
    heads = random.choice([1, 2, 3])
    width = heads * random.choice([1, 2, 3])
    batch, length, keys = random.choice([None, 1, 2, 3]), random.randint(1, 4), random.randint(1, 4)
    options = {"bias": flip(), "add_bias_kv": flip(), "add_zero_attn": flip(), "batch_first": flip()}
    kind = random.choice(["self", "memory", "each", "widths"])
    if kind == "widths":
        options.update(kdim=random.randint(1, 4), vdim=random.randint(1, 4))
    called = {"need_weights": flip(), "average_attn_weights": flip()}
    theirs = nn.MultiheadAttention(width, heads, **options)
    o = lib.options("adz_multihead_attention_options", dtype=lib.ADZ_F64, **options, **called)
    first = options["batch_first"]
    keys = length if kind == "self" else keys
    inputs = {"query": leaf(length, batch, width, first)}
    if kind != "self":
        inputs["key"] = leaf(keys, batch, options.get("kdim", width), first)
    if kind in ("each", "widths"):
        inputs["value"] = leaf(keys, batch, options.get("vdim", width), first)

    def call(module, x, masks):
        key = x.get("key", x["query"])
        return module(x["query"], key, x.get("value", key), **masks, **called)
    masks = masks_of([("attn_mask", "key_padding_mask", length, keys)], heads, batch)
    causal = causal_ones(o, is_causal=("attn_mask", length, keys))
    return Both(lib, theirs, lib.adz_multihead_attention_new(width, heads, o), call, inputs, masks, causal)


def layer_options(lib, kind):
    """Options of PyTorch and of adze, d_model and nhead."""
    heads = random.choice([1, 2])
    options = {"dim_feedforward": random.randint(1, 5), "dropout": 0.0, "layer_norm_eps": random.choice([1e-5, 1e-2]),
               "batch_first": flip(), "norm_first": flip(), "bias": flip()}
    name = random.choice(["gelu", "module", "relu"])
    o = lib.options(kind, dtype=lib.ADZ_F64, **options)
    if name == "module":
        o.activation_module = lib.adz_silu_new()
        return {**options, "activation": nn.SiLU()}, o, heads * random.choice([2, 3]), heads
    o.activation = getattr(lib, ACTIVATIONS[name])
    return {**options, "activation": name}, o, heads * random.choice([2, 3]), heads


def end_activation(lib, o):
    """The layers have their own references."""
    module = o.activation_module
    if module:
        lib.adz_module_release(ctypes.byref(module))


def norm_of(lib, width):
    if flip():
        return None, None
    return nn.LayerNorm(width), lib.adz_layer_norm_new(
        lib.shape(width), lib.options("adz_layer_norm_options", dtype=lib.ADZ_F64))


def encoder(lib, layers):
    options, o, width, heads = layer_options(lib, "adz_transformer_encoder_layer_options")
    batch, length = random.choice([None, 1, 2]), random.randint(1, 4)
    mask = "mask" if layers else "src_mask"
    causal = causal_ones(o, is_causal=(mask, length, length))
    theirs = nn.TransformerEncoderLayer(width, heads, **options)
    ours = lib.adz_transformer_encoder_layer_new(width, heads, o)
    if layers:
        norm, norm_of_ours = norm_of(lib, width)
        theirs = nn.TransformerEncoder(theirs, layers, norm, enable_nested_tensor=False)
        ours = lib.adz_transformer_encoder_new(ours, layers, norm_of_ours)
    end_activation(lib, o)
    inputs = {"src": leaf(length, batch, width, options["batch_first"])}
    masks = masks_of([(mask, "src_key_padding_mask", length, length)], heads, batch)
    return Both(lib, theirs, ours, lambda m, x, masks: [m(x["src"], **masks)], inputs, masks, causal)


def decoder(lib, layers):
    options, o, width, heads = layer_options(lib, "adz_transformer_decoder_layer_options")
    batch, length, memory = random.choice([None, 1, 2]), random.randint(1, 4), random.randint(1, 4)
    causal = causal_ones(o, tgt_is_causal=("tgt_mask", length, length), memory_is_causal=("memory_mask", length, memory))
    theirs = nn.TransformerDecoderLayer(width, heads, **options)
    ours = lib.adz_transformer_decoder_layer_new(width, heads, o)
    if layers:
        norm, norm_of_ours = norm_of(lib, width)
        theirs = nn.TransformerDecoder(theirs, layers, norm)
        ours = lib.adz_transformer_decoder_new(ours, layers, norm_of_ours)
    end_activation(lib, o)
    first = options["batch_first"]
    inputs = {"tgt": leaf(length, batch, width, first), "memory": leaf(memory, batch, width, first)}
    masks = masks_of([("tgt_mask", "tgt_key_padding_mask", length, length),
                      ("memory_mask", "memory_key_padding_mask", length, memory)], heads, batch)
    return Both(lib, theirs, ours, lambda m, x, masks: [m(x["tgt"], x["memory"], **masks)], inputs, masks,
                causal)


def transformer(lib):
    options, o, width, heads = layer_options(lib, "adz_transformer_options")
    batch, length, memory = random.choice([None, 1, 2]), random.randint(1, 4), random.randint(1, 4)
    causal = causal_ones(o, src_is_causal=("src_mask", memory, memory), tgt_is_causal=("tgt_mask", length, length),
                         memory_is_causal=("memory_mask", length, memory))
    layers = {"num_encoder_layers": random.randint(1, 2), "num_decoder_layers": random.randint(1, 2)}
    for name, value in layers.items():
        setattr(o, name, value)
    theirs = nn.Transformer(width, heads, **layers, **options)
    ours = lib.adz_transformer_new(width, heads, o)
    end_activation(lib, o)
    first = options["batch_first"]
    inputs = {"src": leaf(memory, batch, width, first), "tgt": leaf(length, batch, width, first)}
    masks = masks_of([("src_mask", "src_key_padding_mask", memory, memory),
                      ("tgt_mask", "tgt_key_padding_mask", length, length),
                      ("memory_mask", "memory_key_padding_mask", length, memory)], heads, batch)
    return Both(lib, theirs, ours, lambda m, x, masks: [m(x["src"], x["tgt"], **masks)], inputs, masks,
                causal)


KINDS = {"MultiheadAttention": attention, "TransformerEncoderLayer": lambda lib: encoder(lib, 0),
         "TransformerEncoder": lambda lib: encoder(lib, random.randint(1, 3)),
         "TransformerDecoderLayer": lambda lib: decoder(lib, 0),
         "TransformerDecoder": lambda lib: decoder(lib, random.randint(1, 3)), "Transformer": transformer}


def main():
    lib = Library(sys.argv[1], sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        for name, make in KINDS.items():
            before = compared
            for number in range(count):
                torch.manual_seed(number)
                random.seed(number)
                scope = lib.adz_scope_open()
                case = make(lib)
                for p in case.theirs.parameters(): # biases and norms start as constants
                    nn.init.normal_(p, std=0.7)
                case.prints()
                case.exchange(folder)
                case.run()
                ours = case.ours
                lib.adz_module_release(ctypes.byref(ours))
                lib.adz_scope_close(scope)
            print(f"{name:25} {count} cases, {compared - before} numbers")


if __name__ == "__main__":
    main()
