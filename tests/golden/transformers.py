"""Reference vectors of attention and transformers, for generate.py. Dropouts use masks that are written to the
file, in the order in which they are asked for."""

import contextlib
import inspect
import math
import unittest.mock

import torch
import torch.nn.functional as F

NAMES = ("attention_weights", "attention_of_heads", "attention_appended", "encoder_layer_dropped", "decoder_layer_padded",
         "transformer_whole")


def can_be_made():
    """PyTorch 2.1 gave transformers `bias`; Debian 12 has 1.13."""
    return "bias" in inspect.signature(torch.nn.Transformer).parameters


@contextlib.contextmanager
def replayed(masks, heads):
    """Dropouts draw their masks here, and note them."""
    def dropout(x, p=0.5, training=True, inplace=False):
        if not training or p == 0:
            return x
        mask = torch.rand_like(x) < 0.6
        # where the weights are asked for, the heads stand in one dimension with the batch
        masks.append((mask.view(-1, heads, *mask.shape[1:]) if heads else mask, p))
        return x * mask / (1 - p)

    def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores if attn_mask is None else scores + attn_mask
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
        return dropout(scores.softmax(-1), dropout_p) @ v
    with unittest.mock.patch.object(F, "dropout", dropout), \
            unittest.mock.patch.object(F, "scaled_dot_product_attention", attention):
        yield


def network(tools, name, kind, module, config, inputs, call, heads=0):
    """`inputs` are functions that draw; `call` gets the module and the inputs and gives results by name."""
    tools.seed(name)
    for parameter in module.parameters(): # biases and norms would be constants
        torch.nn.init.normal_(parameter, std=0.7)
    given, masks = {key: draw() for key, draw in inputs.items()}, []
    with replayed(masks, heads):
        outputs = call(module, given)
    tensors = tools.with_gradients(given, dict(module.named_parameters()), outputs)
    tensors.update({f"mask.{i}": mask for i, (mask, _) in enumerate(masks)})
    tools.case(name, "transformers", "torch nn." + kind, config, tensors,
               masks=[{"name": f"mask.{i}", "p": p} for i, (_, p) in enumerate(masks)])


def attention(tools, name, width, heads, inputs, need_weights=True, average_attn_weights=True, **options):
    def call(module, given):
        key = given.get("key", given["query"])
        masks = {key: mask for key, mask in given.items() if "mask" in key}
        y, weights = module(given["query"], key, given.get("value", key), need_weights=need_weights,
                            average_attn_weights=average_attn_weights, **masks)
        return {"y": y, "weights": weights} if need_weights else {"y": y}
    network(tools, name, "MultiheadAttention", torch.nn.MultiheadAttention(width, heads, **options),
            {"embed_dim": width, "num_heads": heads, "need_weights": need_weights,
             "average_attn_weights": average_attn_weights, **options}, inputs, call, heads)


def stack(tools, name, kind, module, inputs, order, **config):
    def call(module, given):
        masks = {key: mask for key, mask in given.items() if "mask" in key}
        return {"y": module(*(given[key] for key in order), **masks)}
    network(tools, name, kind, module, config, inputs, call)


def mask(*rows):
    return lambda: torch.tensor([[c == "x" for c in row] for row in rows])


def transformers(tools):
    def x(*shape):
        return lambda: tools.leaf(*shape)
    nn = torch.nn
    attention(tools, "attention_weights", 4, 2, {"query": x(3, 2, 4), "key": x(2, 2, 4), "value": x(2, 2, 4),
                                                 "attn_mask": x(4, 3, 2)}, dropout=0.3)
    attention(tools, "attention_of_heads", 6, 3, {"query": x(2, 3, 6), "key_padding_mask": mask("..x", "...")},
              average_attn_weights=False, batch_first=True, bias=False)
    attention(tools, "attention_appended", 4, 2, {"query": x(2, 3, 4), "key": x(2, 2, 3), "value": x(2, 2, 5),
                                                  "attn_mask": mask(".x", "..", "x."),
                                                  "key_padding_mask": mask("..", ".x")},
              need_weights=False, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    options = {"dim_feedforward": 3, "dropout": 0.25, "activation": "gelu", "norm_first": True}
    stack(tools, "encoder_layer_dropped", "TransformerEncoderLayer", nn.TransformerEncoderLayer(4, 2, **options),
          {"src": x(3, 2, 4), "src_mask": mask(".xx", "..x", "...")}, ["src"], d_model=4, nhead=2, **options)
    options = {"dim_feedforward": 5, "dropout": 0.0, "activation": "relu", "layer_norm_eps": 0.01, "batch_first": True}
    stack(tools, "decoder_layer_padded", "TransformerDecoderLayer", nn.TransformerDecoderLayer(4, 2, **options),
          {"tgt": x(2, 3, 4), "memory": x(2, 2, 4), "tgt_mask": mask(".xx", "..x", "..."),
           "memory_key_padding_mask": mask(".x", "..")}, ["tgt", "memory"], d_model=4, nhead=2, **options)
    options = {"num_encoder_layers": 2, "num_decoder_layers": 1, "dim_feedforward": 3, "dropout": 0.2, "bias": False}
    stack(tools, "transformer_whole", "Transformer", nn.Transformer(4, 2, **options),
          {"src": x(2, 2, 4), "tgt": x(3, 2, 4), "tgt_mask": mask(".xx", "..x", "..."),
           "src_key_padding_mask": mask("..", ".x")}, ["src", "tgt"], d_model=4, nhead=2, **options)
