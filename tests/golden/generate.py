#!/usr/bin/env python3
"""The project's own reference vectors, computed in double precision with PyTorch: operators, feed-forward
networks, transformers, training runs and schedules. adze-parity reads them.

usage: generate.py           writes the files into the folder of this script
       generate.py --check   computes them again and compares; 77 without torch

Each file is one case in safetensors form. The metadata says what to build (`group`, `reference`,
`config`), the tensors are `input.*`, `param.*`, `mask.*`, `output.*`, `upstream.*`, and the gradients
`grad.input.*` and `grad.param.*` of the sum of output times upstream.
"""

import json
import math
import os
import sys
import zlib

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import adze_state  # noqa: E402
import losses  # noqa: E402
import mathematics  # noqa: E402
import sequences  # noqa: E402
import transformers  # noqa: E402

CASES = {}


def case(name, group, reference, config, tensors, tiny="1e-3", masks=None):
    metadata = {"case": name, "group": group, "reference": reference, "config": json.dumps(config),
                "mode": "train", "tolerance": "1e-9", "tiny": tiny}
    if masks:
        metadata["masks"] = json.dumps(masks)
    CASES[name] = ({key: tensors[key] for key in sorted(tensors)}, metadata)


def seed(name):
    torch.manual_seed(zlib.crc32(name.encode()))


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def with_gradients(inputs, parameters, outputs):
    """All tensors of a case, with a random upstream for each floating result."""
    tensors, total = {}, 0
    for name, y in outputs.items():
        tensors["output." + name] = y.detach()
        if y.requires_grad:
            upstream = torch.randn_like(y)
            tensors["upstream." + name] = upstream
            total = total + (y * upstream).sum()
    if torch.is_tensor(total):
        total.backward()
    for kind, values in (("input.", inputs), ("param.", parameters)):
        for name, value in values.items():
            tensors[kind + name] = value.detach()
            if value.requires_grad:
                tensors["grad." + kind + name] = (
                    value.grad if value.grad is not None else torch.zeros_like(value))
    return tensors


# ---- operators -------------------------------------------------------------------------------------


def op(name, kind, inputs, function, **attributes):
    """`inputs` is called after seeding; `function` gets the inputs and gives y, or results by name."""
    seed(name)
    given = inputs()
    result = function(*given.values())
    outputs = result if isinstance(result, dict) else {"y": result}
    case(name, "ops", "torch " + kind, {"op": kind, **attributes},
         with_gradients(given, {}, outputs))


def lstm(name, width, hidden, layers, bidirectional):
    seed(name)
    module = torch.nn.LSTM(width, hidden, layers, bidirectional=bidirectional)
    rows = layers * (2 if bidirectional else 1)
    given = {"x": leaf(4, 2, width), "h0": leaf(rows, 2, hidden), "c0": leaf(rows, 2, hidden)}
    y, (h, c) = module(given["x"], (given["h0"], given["c0"]))
    case(name, "ops", "torch nn.LSTM",
         {"op": "lstm", "input_size": width, "hidden_size": hidden, "num_layers": layers, "bias": True,
          "batch_first": False, "bidirectional": bidirectional},
         with_gradients(given, dict(module.named_parameters()), {"y": y, "h": h, "c": c}))


def x_of(*shape):
    return lambda: {"x": leaf(*shape)}


def pair(a, b):
    return lambda: {"a": leaf(*a), "b": leaf(*b)}


def pooled(name, kind, shape, options, **called):
    """A pooling of torch.nn.functional, whose options are the config; `called` differ in their names."""
    function = getattr(F, kind)
    def call(x):
        y = function(x, **options, **called)
        return dict(zip(("y", "indices"), y)) if isinstance(y, tuple) else y
    op(name, kind, x_of(*shape), call, **options)


def poolings():
    indices = {"return_indices": True}
    pooled("max_pool2d_usual", "max_pool2d", (2, 2, 6, 4), {"kernel_size": [2, 2]}, **indices)
    pooled("max_pool2d_all", "max_pool2d", (2, 8, 9),
           {"kernel_size": [3, 2], "stride": [2, 3], "padding": [1, 1], "dilation": [2, 1],
            "ceil_mode": True}, **indices)
    pooled("max_pool1d_ceiled", "max_pool1d", (2, 3, 7),
           {"kernel_size": [3], "stride": [2], "ceil_mode": True}, **indices)
    pooled("avg_pool2d_padded", "avg_pool2d", (2, 2, 5, 7),
           {"kernel_size": [3, 2], "stride": [2, 1], "padding": [1, 1], "ceil_mode": True})
    pooled("avg_pool2d_inside", "avg_pool2d", (2, 5, 7),
           {"kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1], "count_include_pad": False})
    pooled("avg_pool2d_divided", "avg_pool2d", (1, 1, 4, 6),
           {"kernel_size": [2, 3], "divisor_override": 4})
    pooled("avg_pool1d_padded", "avg_pool1d", (2, 2, 8),
           {"kernel_size": [3], "stride": [2], "padding": [1], "ceil_mode": True})
    pooled("adaptive_avg_pool2d_uneven", "adaptive_avg_pool2d", (2, 2, 5, 7), {"output_size": [3, 4]})
    pooled("adaptive_avg_pool1d_growing", "adaptive_avg_pool1d", (2, 3, 3), {"output_size": 5})
    pooled("adaptive_max_pool2d_uneven", "adaptive_max_pool2d", (2, 2, 5, 7), {"output_size": [2, 3]},
           **indices)
    pooled("adaptive_max_pool1d_uneven", "adaptive_max_pool1d", (2, 2, 7), {"output_size": 3}, **indices)


def rms_norm(x, weight, eps):
    """PyTorch 2.4's F.rms_norm by its formula; older versions lack it."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def norms():
    op("rms_norm_weighted", "rms_norm", lambda: {"x": leaf(2, 3, 5), "weight": leaf(5)},
       lambda x, weight: rms_norm(x, weight, 1e-3), normalized_shape=[5], eps=1e-3)
    given = {"x": lambda: leaf(2, 6, 2, 3), "weight": lambda: leaf(6), "bias": lambda: leaf(6)}
    op("group_norm_of_three", "group_norm", lambda: {key: make() for key, make in given.items()},
       lambda x, weight, bias: F.group_norm(x, 3, weight, bias, 1e-4), num_groups=3, eps=1e-4)
    op("instance_norm_affine", "instance_norm", lambda: {key: make() for key, make in given.items()},
       lambda x, weight, bias: F.instance_norm(x, weight=weight, bias=bias), use_input_stats=True,
       momentum=0.1, eps=1e-5)

    def tracked(x, running_mean, running_var):
        mean, var = running_mean.clone(), running_var.clone()
        y = F.instance_norm(x, mean, var, momentum=0.3)
        return {"y": y, "running_mean": mean, "running_var": var}
    op("instance_norm_tracked", "instance_norm",
       lambda: {"x": leaf(3, 2, 4), "running_mean": torch.randn(2), "running_var": torch.rand(2) + 0.5},
       tracked, use_input_stats=True, momentum=0.3, eps=1e-5)


def resized(name, shape, **options):
    op(name, "interpolate", x_of(*shape), lambda x: F.interpolate(x, **options), **options)


def shapes():
    resized("interpolate_nearest", (2, 2, 5), size=[7], mode="nearest")
    resized("interpolate_nearest_scaled", (1, 2, 4, 3), scale_factor=1.7, mode="nearest")
    resized("interpolate_linear", (2, 2, 5), size=[8], mode="linear", align_corners=False)
    resized("interpolate_bilinear", (2, 1, 4, 5), size=[7, 3], mode="bilinear", align_corners=False)
    resized("interpolate_corners", (1, 2, 3, 4), size=[5, 6], mode="bilinear", align_corners=True)
    resized("interpolate_scaled", (1, 1, 4, 3), scale_factor=1.7, mode="bilinear", align_corners=False)
    op("pixel_shuffle_by_two", "pixel_shuffle", x_of(2, 8, 2, 3), lambda x: F.pixel_shuffle(x, 2),
       upscale_factor=2)
    op("pixel_unshuffle_by_two", "pixel_unshuffle", x_of(2, 1, 4, 6),
       lambda x: F.pixel_unshuffle(x, 2), downscale_factor=2)
    op("roll_back", "roll", x_of(3, 5), lambda x: x.roll(-2, 1), shift=-2, dim=1)
    op("repeat_interleave_rows", "repeat_interleave", x_of(3, 2), lambda x: x.repeat_interleave(2, 0),
       repeats=2, dim=0)


def choices():
    op("sort_descending", "sort", x_of(4, 3),
       lambda x: dict(zip(("y", "indices"), x.sort(0, descending=True))), dim=0, descending=True)
    op("masked_select_broadcast", "masked_select",
       lambda: {"x": leaf(3, 4), "mask": torch.tensor([[True], [False], [True]])}, torch.masked_select)
    for norm in (1.0, 2.0, 3.5):
        op(f"cdist_p_{norm:g}", "cdist", pair((2, 3, 4), (5, 4)), lambda a, b: torch.cdist(a, b, norm),
           p=norm)
    op("normalize_columns", "normalize", x_of(3, 4), lambda x: F.normalize(x, 3.0, 0), p=3.0, dim=0)
    op("cosine_similarity_rows", "cosine_similarity", pair((2, 3, 4), (3, 4)),
       lambda a, b: F.cosine_similarity(a, b, -1), dim=-1)


def operators():
    op("add_alpha_broadcast", "add", pair((2, 1, 3), (4, 1)),
       lambda a, b: torch.add(a, b, alpha=-1.5), alpha=-1.5)
    op("mul_broadcast", "mul", pair((3, 1), (2, 1, 4)), torch.mul)
    op("div_scalar_by", "rdiv", lambda: {"a": leaf(3, 2)}, lambda a: 2.5 / a, scalar=2.5)
    op("matmul_batched", "matmul", pair((2, 1, 3, 4), (3, 4, 2)), torch.matmul)
    op("matmul_vector", "matmul", pair((5,), (5, 3)), torch.matmul)
    op("linear_rank_3", "linear",
       lambda: {"x": leaf(2, 3, 4), "weight": leaf(5, 4), "bias": leaf(5)}, lambda x, weight, bias:
       F.linear(x, weight, bias), bias=True)
    op("einsum_scores", "einsum", pair((2, 3, 2, 4), (2, 5, 2, 4)),
       lambda a, b: torch.einsum("bihd,bjhd->bhij", a, b), equation="bihd,bjhd->bhij")
    for approximate in ("none", "tanh"):
        op("gelu_" + approximate, "gelu", x_of(3, 4),
           lambda x: F.gelu(x, approximate=approximate), approximate=approximate)
    for kind, function in (("relu", F.relu), ("silu", F.silu), ("tanh", torch.tanh),
                           ("sigmoid", torch.sigmoid), ("erf", torch.erf)):
        op(kind + "_plain", kind, x_of(3, 5), function)
    op("glu_first", "glu", x_of(4, 3), lambda x: F.glu(x, 0), dim=0)
    for kind, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        op(kind + "_middle", kind, x_of(2, 5, 3), lambda x: function(x, 1), dim=1)
    op("logsumexp_two", "logsumexp", x_of(2, 4, 3),
       lambda x: torch.logsumexp(x, [0, 2], keepdim=True), dim=[0, 2], keepdim=True)
    op("sum_outer", "sum", x_of(2, 4, 3), lambda x: x.sum([0, 2]), dim=[0, 2], keepdim=False)
    op("mean_all", "mean", x_of(2, 4), lambda x: x.mean(), dim=None, keepdim=False)
    op("var_unbiased", "var", x_of(4, 5), lambda x: x.var([1], unbiased=True, keepdim=True),
       dim=[1], unbiased=True, keepdim=True)
    op("max_with_ties", "max", lambda: {"x": torch.tensor([[1., 4., 4., 0.], [2., 2., 1., 2.]])
                                        .requires_grad_()},
       lambda x: dict(zip(("values", "indices"), x.max(1))), dim=1, keepdim=False)
    op("layer_norm_affine", "layer_norm",
       lambda: {"x": leaf(3, 2, 4), "weight": leaf(4), "bias": leaf(4)},
       lambda x, weight, bias: F.layer_norm(x, [4], weight, bias, 1e-3), normalized_shape=[4], eps=1e-3)
    op("embedding_padded", "embedding",
       lambda: {"weight": leaf(6, 3), "ids": torch.tensor([[0, 5, 2], [2, 4, 2]])},
       lambda weight, ids: F.embedding(ids, weight, padding_idx=4), padding_idx=4)
    op("cross_entropy_smooth", "cross_entropy",
       lambda: {"x": leaf(5, 4), "target": torch.tensor([0, 3, -100, 2, 1])},
       lambda x, target: F.cross_entropy(x, target, label_smoothing=0.2), reduction="mean",
       ignore_index=-100, label_smoothing=0.2, weighted=False)
    op("logits_against_targets", "binary_cross_entropy_with_logits",
       lambda: {"x": leaf(3, 4), "target": torch.rand(3, 4)},
       lambda x, target: F.binary_cross_entropy_with_logits(x, target), reduction="mean")
    op("mse_loss_sum", "mse_loss", lambda: {"x": leaf(3, 4), "target": leaf(3, 4)},
       lambda x, target: F.mse_loss(x, target, reduction="sum"), reduction="sum")
    op("huber_loss_delta", "huber_loss", lambda: {"x": leaf(3, 4), "target": leaf(3, 4)},
       lambda x, target: F.huber_loss(x, target, delta=0.7), reduction="mean", delta=0.7)
    op("gather_inner", "gather",
       lambda: {"x": leaf(3, 4), "index": torch.tensor([[0, 0], [3, 1], [2, 2]])},
       lambda x, index: x.gather(1, index), dim=1)
    op("cat_of_three", "cat", lambda: {"x0": leaf(2, 1), "x1": leaf(2, 3), "x2": leaf(2, 2)},
       lambda x0, x1, x2: torch.cat([x0, x1, x2], 1), dim=1)
    op("cat_of_five", "cat", lambda: {f"x{i}": leaf(2, i) for i in range(5)},
       lambda *xs: torch.cat(xs, 1), dim=1)
    op("chunk_in_four", "chunk", x_of(7, 2),
       lambda x: {f"y{i}": y for i, y in enumerate(x.chunk(4))}, dim=0, chunks=4)
    lstm("lstm_of_three", 3, 2, 3, True)
    op("where_broadcast", "where", lambda: {"cond": torch.tensor([[True, False, True]]),
                                            "a": leaf(2, 3), "b": leaf(2, 1)}, torch.where)
    op("mul_of_views", "mul", pair((4, 3), (3, 8)),
       lambda a, b: a.transpose(0, 1) * b[:, 1:8:2],
       views={"a": [["transpose", 0, 1]], "b": [["slice", 1, 1, 8, 2]]})


def convolution(name, kind, x, weight, bias=True, same=False, **attributes):
    """A convolution; `same` stands for the padding of that name."""
    transposed = "transpose" in kind
    groups = attributes.get("groups", 1)
    maps = weight[1] * groups if transposed else weight[0]

    def inputs():
        drawn = {"x": leaf(*x), "weight": leaf(*weight)}
        return {**drawn, "bias": leaf(maps)} if bias else drawn

    def function(x, weight, bias=None):
        padding = {"padding": "same"} if same else {}
        return getattr(F, kind)(x, weight, bias, **attributes, **padding)
    op(name, kind, inputs, function, same=same, **attributes)


def convolutions():
    convolution("conv1d_causal", "conv1d", (2, 3, 9), (4, 3, 2), padding=4, dilation=4)
    convolution("conv1d_unbatched", "conv1d", (4, 8), (6, 2, 3), groups=2, stride=2)
    convolution("conv2d_plain", "conv2d", (2, 3, 6, 5), (4, 3, 3, 2), padding=[1, 0])
    convolution("conv2d_strides", "conv2d", (2, 4, 8, 7), (6, 2, 3, 2), bias=False, groups=2,
                stride=[2, 3], padding=[2, 1], dilation=[1, 2])
    convolution("conv2d_depthwise", "conv2d", (2, 3, 5, 6), (6, 1, 3, 3), groups=3, padding=1)
    convolution("conv2d_same", "conv2d", (1, 2, 5, 6), (3, 2, 4, 3), same=True, dilation=[1, 2])
    convolution("conv_transpose1d_plain", "conv_transpose1d", (2, 3, 5), (3, 2, 4), stride=3,
                padding=1, output_padding=2)
    convolution("conv_transpose2d_plain", "conv_transpose2d", (2, 4, 3, 5), (4, 3, 3, 2), groups=2,
                stride=[2, 1], padding=[1, 0], output_padding=[1, 0])
    convolution("conv_transpose2d_dilated", "conv_transpose2d", (3, 4, 3), (3, 2, 2, 3), bias=False,
                stride=2, dilation=[3, 2])
    op("unfold_plain", "unfold", x_of(2, 3, 6, 5),
       lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=(0, 2), stride=(2, 1)),
       kernel_size=[3, 2], dilation=[1, 2], padding=[0, 2], stride=[2, 1])
    op("fold_plain", "fold", x_of(2, 18, 14),
       lambda x: F.fold(x, (6, 5), (3, 2), dilation=(1, 2), padding=(0, 2), stride=(2, 1)),
       output_size=[6, 5], kernel_size=[3, 2], dilation=[1, 2], padding=[0, 2], stride=[2, 1])
    for mode in ("reflect", "replicate", "circular"):
        op("pad_mode_" + mode, "pad_mode", x_of(2, 3, 4, 5),
           lambda x: F.pad(x, (2, 1, 0, 3), mode=mode), pads=[2, 1, 0, 3], mode=mode)


# ---- feed-forward networks -------------------------------------------------------------------------

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "tanh": torch.tanh,
               "sigmoid": torch.sigmoid, "identity": lambda x: x}


def network(name, reference, config, parameters, shape, function, masks=None):
    """`parameters` are shapes by name; `function` gets x, the parameters and the masks."""
    seed(name)
    p = {key: leaf(*sizes) for key, sizes in parameters.items()}
    x = leaf(*shape)
    drawn = {key: torch.rand(*sizes) < 0.6 for key, (sizes, _) in (masks or {}).items()}
    tensors = with_gradients({"x": x}, p, {"y": function(x, p, drawn)})
    tensors.update({"mask." + key: mask for key, mask in drawn.items()})
    listed = [{"name": "mask." + key, **({"p": rate} if rate is not None else {})}
              for key, (_, rate) in (masks or {}).items()]
    case(name, "ffn", reference, config, tensors, masks=listed)


def feed_forward(activation, rate):
    def function(x, p, masks):
        h = ACTIVATIONS[activation](F.linear(x, p["layer1.weight"], p.get("layer1.bias")))
        if "linear_v.weight" in p:
            h = h * F.linear(x, p["linear_v.weight"], p.get("linear_v.bias"))
        if masks:
            h = h * masks["hidden"] / (1 - rate)
        return F.linear(h, p["layer2.weight"], p.get("layer2.bias"))
    return function


def labml_feed_forward(name, d_model, d_ff, shape, activation, is_gated, bias, rate=0.0):
    parameters = {"layer1.weight": (d_ff, d_model), "layer2.weight": (d_model, d_ff)}
    if is_gated:
        parameters["linear_v.weight"] = (d_ff, d_model)
    if bias:
        parameters.update({key.replace("weight", "bias"): (sizes[0],)
                           for key, sizes in dict(parameters).items()})
    config = {"d_model": d_model, "d_ff": d_ff, "dropout": rate, "activation": activation,
              "is_gated": is_gated, "bias1": bias, "bias2": bias, "bias_gate": bias}
    masks = {"hidden": ((*shape[:-1], d_ff), rate)} if rate else None
    network(name, "labml FeedForward", config, parameters, shape, feed_forward(activation, rate),
            masks)


def networks():
    labml_feed_forward("feed_forward_relu", 4, 6, (2, 3, 4), "relu", False, True)
    labml_feed_forward("feed_forward_geglu", 5, 3, (4, 5), "gelu", True, False)
    labml_feed_forward("feed_forward_bilinear", 3, 4, (2, 3), "identity", True, True)
    labml_feed_forward("feed_forward_dropped", 4, 5, (3, 2, 4), "silu", True, True, rate=0.3)
    network("notebook_network", "notebook PositionWiseFeedForward",
            {"d_model": 4, "d_ff": 6, "dropout_p": 0.25, "bias": True},
            {"w1": (4, 6), "b1": (6,), "w2": (6, 4), "b2": (4,)}, (3, 4),
            lambda x, p, masks: (F.relu(x @ p["w1"] + p["b1"]) * masks["hidden"] / 0.75) @ p["w2"]
            + p["b2"], {"hidden": ((3, 6), None)})
    network("conv1d_of_gpt2", "GPT-2 notes Conv1D", {"nf": 3, "nx": 5},
            {"weight": (5, 3), "bias": (3,)}, (2, 2, 5), lambda x, p, _: x @ p["weight"] + p["bias"])
    network("mlp_of_gpt2", "graykode MLP", {"n_state": 10, "n_embd": 4},
            {"c_fc.weight": (4, 10), "c_fc.bias": (10,), "c_proj.weight": (10, 4), "c_proj.bias": (4,)},
            (2, 3, 4), lambda x, p, _: F.gelu(x @ p["c_fc.weight"] + p["c_fc.bias"],
                                              approximate="tanh") @ p["c_proj.weight"] + p["c_proj.bias"])


# ---- training runs ---------------------------------------------------------------------------------


def cosine_decay(t, warmup, total):
    """What is left of the rate at step t; a tenth at least."""
    way = (t - warmup) / max(1, total - warmup)
    return max(0.1, (1 + math.cos(math.pi * way)) / 2)


class Annotated(torch.optim.Optimizer):
    """The annotated library's Adam and its relatives from their formulas. RAdam's step, and AdaBelief's
    unless told not to, is rectified where it can be; before that it goes along the mean or waits."""

    def __init__(self, params, lr, betas, eps, weight_decay, optimized_update=True, amsgrad=False,
                 warmup=0, d_model=0, total_steps=1e10, degenerate_to_sgd=True, rectify=True, kind="Adam"):
        super().__init__(params, {"lr": lr})
        self.total_steps, self.along = total_steps, degenerate_to_sgd
        self.rectified = kind == "RAdam" or kind == "AdaBelief" and rectify
        self.betas, self.eps, self.decay, self.optimized = betas, eps, weight_decay, optimized_update
        self.amsgrad, self.warmup, self.d_model, self.kind, self.t = amsgrad, warmup, d_model, kind, 0

    def rate(self, lr):
        if self.kind == "Noam":
            return lr / math.sqrt(self.d_model) * min(self.t ** -0.5, self.t * self.warmup ** -1.5)
        if self.kind.startswith("AdamWarmup") and self.t < self.warmup:
            return 1e-8 + self.t * lr / self.warmup
        if self.kind == "AdamWarmupCosineDecay":
            return lr * cosine_decay(self.t, self.warmup, self.total_steps)
        return lr

    @torch.no_grad()
    def step(self, closure=None):
        self.t += 1
        b1, b2 = self.betas
        c1, c2 = 1 - b1 ** self.t, 1 - b2 ** self.t
        last = 2 / (1 - b2) - 1
        rho = last - 2 * self.t * b2 ** self.t / c2
        for group in self.param_groups:
            for p in group["params"]:
                g, decay = p.grad, self.decay["weight_decay"]
                if not self.decay["weight_decouple"]:
                    g = g + decay * p
                else:
                    p.mul_(1 - (decay if self.decay["absolute"] else group["lr"] * decay))
                s = self.state[p]
                s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
                if self.kind == "AdaBelief":
                    g = g - s["m"]
                s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
                s["most"] = torch.maximum(s.get("most", s["v"]), s["v"])
                v = s["most"] if self.amsgrad else s["v"]
                v = v + self.eps if self.kind == "AdaBelief" else v
                step = self.rate(group["lr"]) / c1 * s["m"]
                if self.rectified and rho < 5:
                    p.sub_(step if self.along else 0)
                    continue
                if self.rectified:
                    step = step * math.sqrt((rho - 4) / (last - 4) * (rho - 2) / rho * last / (last - 2))
                p.sub_(step * math.sqrt(c2) / (v.sqrt() + self.eps) if self.optimized
                       else step / ((v / c2).sqrt() + self.eps))


def run(name, reference, optimizer, args, is_gated=False, groups=None, clip=None, scheduler=None,
        steps=12):
    """Trains the small network of the config and stores where it arrives."""
    seed(name)
    d_in, d_ff, d_out, rows, batches = 4, 5, 3, 7, 2
    parameters = {"layer1.weight": leaf(d_ff, d_in), "layer1.bias": leaf(d_ff),
                  "layer2.weight": leaf(d_out, d_ff), "layer2.bias": leaf(d_out)}
    if is_gated:
        parameters.update({"linear_v.weight": leaf(d_ff, d_in), "linear_v.bias": leaf(d_ff)})
    x, target = torch.randn(batches, rows, d_in), torch.randn(batches, rows, d_out)
    tensors = {"input.x": x, "input.target": target}
    tensors.update({"param." + key: p.detach().clone() for key, p in parameters.items()})
    activation = "tanh" if is_gated else "gelu"
    config = {"optimizer": reference.split()[-1].split(".")[-1], "optimizer_args": args,
              "model": {"d_in": d_in, "d_ff": d_ff, "d_out": d_out, "activation": activation,
                        "is_gated": is_gated, "bias": True},
              "steps": steps, "loss": "mse_loss mean", "parameter_order": list(parameters)}
    given = list(parameters.values())
    if groups:
        config["param_groups"] = groups
        given = [{**group, "params": [parameters[key] for key in group["params"]]}
                 for group in groups]
    made = optimizer(given)
    follows = None
    if scheduler:
        config["scheduler"] = scheduler
        options = {key: value for key, value in scheduler.items() if key != "name"}
        follows = getattr(torch.optim.lr_scheduler, scheduler["name"])(made, **options)
    if clip:
        config["clip"] = clip
    lists = {"losses": [], "lrs": [], "momentums": [], "grad_norms": []}
    model = feed_forward(activation, 0)
    for t in range(steps):
        group = made.param_groups[0]
        lists["lrs"].append(group["lr"])
        if scheduler:
            lists["momentums"].append(group["betas"][0] if "betas" in group else group["momentum"])
        loss = F.mse_loss(model(x[t % batches], parameters, {}), target[t % batches])
        lists["losses"].append(loss.item())
        made.zero_grad()
        loss.backward()
        if clip and clip["kind"] == "norm":
            norm = torch.nn.utils.clip_grad_norm_(
                list(parameters.values()), clip["max_norm"], float(clip["norm_type"]))
            lists["grad_norms"].append(norm.item())
        elif clip:
            torch.nn.utils.clip_grad_value_(list(parameters.values()), clip["clip_value"])
        made.step()
        if follows:
            follows.step()
    tensors.update({"output." + key: torch.tensor(value) for key, value in lists.items() if value})
    tensors.update({"output.final." + key: p.detach() for key, p in parameters.items()})
    case(name, "optim", reference, config, tensors, tiny="1e-6")


def torch_run(name, kind, args, **options):
    run(name, "torch.optim." + kind, lambda p: getattr(torch.optim, kind)(p, **args), args, **options)


def annotated_run(name, kind, args, **options):
    run(name, "labml " + kind, lambda p: Annotated(p, kind=kind, **args), args, **options)


def decay_of(amount, decouple=True, absolute=False):
    return {"weight_decay": amount, "weight_decouple": decouple, "absolute": absolute}


def runs():
    torch_run("run_sgd_nesterov", "SGD",
              dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.02), is_gated=True,
              clip={"kind": "norm", "max_norm": 0.5, "norm_type": 2.0})
    torch_run("run_sgd_groups", "SGD", dict(lr=0.05, momentum=0.8, dampening=0.3),
              groups=[{"params": ["layer1.weight", "layer1.bias"], "lr": 0.02},
                      {"params": ["layer2.weight", "layer2.bias"], "momentum": 0.4}],
              clip={"kind": "value", "clip_value": 0.1})
    torch_run("run_adam_amsgrad", "Adam",
              dict(lr=0.05, betas=(0.7, 0.8), eps=1e-4, weight_decay=0.03, amsgrad=True))
    torch_run("run_adam_one_cycle", "Adam", dict(lr=0.01), is_gated=True,
              scheduler={"name": "OneCycleLR", "max_lr": 0.1, "total_steps": 12})
    torch_run("run_adamw_maximize", "AdamW", dict(lr=0.002, weight_decay=0.5, maximize=True))
    torch_run("run_rmsprop_all", "RMSprop",
              dict(lr=0.01, alpha=0.9, momentum=0.5, centered=True, weight_decay=0.05, eps=1e-5))
    torch_run("run_adagrad_all", "Adagrad",
              dict(lr=0.2, lr_decay=0.1, weight_decay=0.02, initial_accumulator_value=0.2))
    torch_run("run_radam", "RAdam", dict(lr=0.05, betas=(0.8, 0.9), weight_decay=0.1))
    common = dict(lr=0.03, betas=(0.8, 0.9), eps=1e-4)
    annotated_run("run_annotated_adam", "Adam", dict(common, weight_decay=decay_of(0.5)))
    annotated_run("run_annotated_exact", "Adam",
                  dict(common, weight_decay=decay_of(0.2, decouple=False), optimized_update=False))
    annotated_run("run_annotated_amsgrad", "AMSGrad",
                  dict(common, weight_decay=decay_of(0.01, absolute=True), amsgrad=True))
    annotated_run("run_annotated_noam", "Noam",
                  dict(common, lr=0.3, warmup=5, d_model=32, weight_decay=decay_of(0.1)))
    annotated_run("run_annotated_warmup", "AdamWarmup",
                  dict(common, warmup=6, weight_decay=decay_of(0.3)), is_gated=True)
    annotated_run("run_annotated_radam", "RAdam", dict(common, weight_decay=decay_of(0.0)))
    annotated_run("run_annotated_cosine", "AdamWarmupCosineDecay",
                  dict(common, warmup=3, total_steps=10, weight_decay=decay_of(0.3)), is_gated=True)
    annotated_run("run_annotated_belief", "AdaBelief",
                  dict(common, weight_decay=decay_of(0.3), optimized_update=False))
    annotated_run("run_annotated_belief_waits", "AdaBelief",
                  dict(common, weight_decay=decay_of(0.1, decouple=False), optimized_update=True,
                       amsgrad=True, degenerate_to_sgd=False), is_gated=True)
    annotated_run("run_annotated_belief_plain", "AdaBelief",
                  dict(common, weight_decay=decay_of(0.01, absolute=True), optimized_update=False,
                       rectify=False))


# ---- schedules -------------------------------------------------------------------------------------


def schedule(name, kind, lr, steps=30, metrics=None, function=None, library="torch ", **options):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=0.5)
    made = (torch.optim.lr_scheduler.LambdaLR(optimizer, function) if function
            else getattr(torch.optim.lr_scheduler, kind)(optimizer, **options))
    rates, momenta, tensors = [], [], {}
    for t in range(steps):
        if metrics is not None:
            made.step(metrics[t])
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if metrics is None:
            made.step()
    if metrics is not None:
        tensors["input.metrics"] = torch.tensor(metrics)
    tensors["output.lrs"] = torch.tensor(rates)
    if kind == "OneCycleLR":
        tensors["output.momentums"] = torch.tensor(momenta)
    case(name, "optim", library + kind,
         {"scheduler": kind, "lr": lr, "steps": steps, **options}, tensors, tiny="1e-12")


def schedules():
    schedule("lr_steps", "StepLR", 0.3, step_size=7, gamma=0.4)
    schedule("lr_milestones", "MultiStepLR", 0.3, milestones=[4, 11, 11, 25], gamma=0.6)
    schedule("lr_falling", "ExponentialLR", 0.3, gamma=0.87)
    schedule("lr_line_down", "LinearLR", 0.3, start_factor=0.9, end_factor=0.1, total_iters=17)
    schedule("lr_cosine_and_back", "CosineAnnealingLR", 0.3, T_max=9, eta_min=0.01)
    schedule("lr_restarts", "CosineAnnealingWarmRestarts", 0.3, T_0=3, T_mult=3, eta_min=0.02)
    schedule("lr_one_cycle_lines", "OneCycleLR", 0.3, steps=25, max_lr=0.7, total_steps=25,
             anneal_strategy="linear", three_phase=True, pct_start=0.4)
    schedule("lr_one_cycle_cosines", "OneCycleLR", 0.3, steps=25, max_lr=0.7, total_steps=40,
             pct_start=0.2, base_momentum=0.7, max_momentum=0.9)
    warmup, total = 6, 24
    schedule("lr_warmup", "LambdaLR", 0.3, function=lambda t: min(1, (t + 1) / warmup),
             warmup=warmup, factor="min(1, (t + 1) / warmup)")
    schedule("lr_inverse_sqrt", "LambdaLR", 0.3, warmup=warmup,
             function=lambda t: min((t + 1) / warmup, math.sqrt(warmup / (t + 1))),
             factor="min((t + 1) / warmup, sqrt(warmup / (t + 1)))")
    schedule("lr_there_and_back", "LambdaLR", 0.3, warmup=warmup, total=total,
             function=lambda t: t / warmup if t < warmup else max(0, (total - t) / (total - warmup)),
             factor="t / warmup if t < warmup else max(0, (total - t) / (total - warmup))")
    schedule("lr_warmup_and_cosine", "AdamWarmupCosineDecay", 0.3, library="labml ", warmup=warmup,
             total_steps=total, function=lambda t: (1e-8 + (t + 1) * 0.3 / warmup) / 0.3
             if t + 1 < warmup else cosine_decay(t + 1, warmup, total))
    wave = [1.5 + math.exp(-t / 5) + 0.1 * math.sin(2.3 * t) for t in range(30)]
    schedule("lr_plateau", "ReduceLROnPlateau", 0.3, metrics=wave, factor=0.5, patience=2,
             threshold=0.02, cooldown=2, min_lr=0.01)
    schedule("lr_plateau_upwards", "ReduceLROnPlateau", 0.3, metrics=[-m for m in wave], mode="max",
             threshold_mode="abs", threshold=0.05, factor=0.7, patience=1)


# ---- all of it -------------------------------------------------------------------------------------


def differs(name, tensors, metadata):
    """Whether the file is not what has been computed; the last bits are the machine's."""
    stored, given = adze_state.read(os.path.join(HERE, name + ".safetensors"))
    return given != metadata or stored.keys() != tensors.keys() or any(
        tensor.shape != stored[key].shape or tensor.dtype != stored[key].dtype
        or not torch.allclose(tensor.double(), stored[key].double(), rtol=1e-10, atol=1e-12, equal_nan=True)
        for key, tensor in tensors.items())


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    for part in (operators, convolutions, poolings, norms, shapes, choices, networks, runs, schedules):
        part()
    sequences.sequences(sys.modules[__name__])
    losses.losses(sys.modules[__name__])
    mathematics.mathematics(sys.modules[__name__])
    newer = () if transformers.can_be_made() else transformers.NAMES
    if not newer:
        transformers.transformers(sys.modules[__name__])
    if sys.argv[1:] != ["--check"]:
        for name, (tensors, metadata) in CASES.items():
            adze_state.write(os.path.join(HERE, name + ".safetensors"), tensors, metadata)
        print(f"{len(CASES)} files")
        return
    there = {name[:-len(".safetensors")] for name in os.listdir(HERE) if name.endswith(".safetensors")}
    wrong = sorted((there - set(newer)) ^ CASES.keys()) + [
        name for name in sorted(there & CASES.keys()) if differs(name, *CASES[name])]
    print(f"{len(CASES)} cases" + (": not as stored: " + ", ".join(wrong) if wrong else " as stored"))
    if newer:
        print(f"not compared, because PyTorch {torch.__version__} cannot compute them: " + ", ".join(newer))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
