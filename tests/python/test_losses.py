#!/usr/bin/env python3
"""Losses, distances, Bilinear, EmbeddingBag and AdaptiveLogSoftmaxWithLoss against PyTorch, with random options: printed
forms, values, first and second derivatives in f64, and states both ways. Exits with 77 where there is no torch.

usage: test_losses.py LIBADZE.so ADZE.json [CASES]
"""

import ctypes
import random
import re
import sys
import tempfile

import test_transformers # exits with 77 where there is no torch
import torch
from test_transformers import Both, flip
from torch import nn
from adze_table import Library

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
test_transformers.TOLERANCE = 1e-9 # derivatives at large and small scales lose digits
SCALES = [1e-3, 1, 1, 1, 30]


class Case(Both):
    def exchange(self, folder):
        if self.theirs.state_dict():
            super().exchange(folder)

    def run(self):
        try:
            super().run()
        except RuntimeError as error: # PyTorch has no second derivative of some losses
            if not re.search("implemented|differentiable", str(error)):
                raise


def positional(module, x, constants):
    y = module(*x.values(), *constants.values())
    return list(y) if isinstance(y, tuple) else [y]


def leaf(*shape, positive=False):
    t = torch.randn(*shape) * random.choice(SCALES)
    return ((t.abs() + 0.1) if positive else t).requires_grad_()


def unit(*shape):
    return (torch.rand(*shape) * 0.9 + 0.05).requires_grad_()


def signs(*shape):
    return torch.randint(0, 2, shape) * 2.0 - 1


def any_shape():
    return tuple(random.randint(1, 4) for _ in range(random.randint(1, 3)))


def reduction():
    return random.choice(list(REDUCTIONS))


def weight_or_none(lib, *shape):
    if flip():
        return None, lib.adz_none()
    w = torch.rand(*shape) + 0.1
    return w, lib.adz_tensor_from(ctypes.c_void_p(w.data_ptr()), lib.shape(*shape), lib.ADZ_F64)


def options(lib, name, **given):
    return lib.options(name, **{k: REDUCTIONS[v] if k == "reduction" else v for k, v in given.items()})


def pair(lib, theirs, new, *numbers, inputs=None):
    """A loss of x and target whose constructor takes the reduction, and perhaps numbers by their names in PyTorch."""
    how = reduction()
    numbers = dict(numbers)
    shape = any_shape()
    given = inputs(shape) if inputs else {"x": leaf(*shape), "target": leaf(*shape)}
    xs = {k: v for k, v in given.items() if v.requires_grad}
    rest = {k: v for k, v in given.items() if not v.requires_grad}
    return Case(lib, theirs(reduction=how, **numbers), new(REDUCTIONS[how], *numbers.values()), positional, xs, rest)


def kl_div(lib):
    how = random.choice([*REDUCTIONS, "batchmean"])
    log = flip()
    shape = any_shape()
    xs = {"x": leaf(*shape), "target": leaf(*shape) if log else leaf(*shape, positive=True)}
    return Case(lib, nn.KLDivLoss(reduction=how, log_target=log),
                lib.adz_kl_div_loss_new({**REDUCTIONS, "batchmean": 3}[how], log), positional, xs, {})


def margins(): # not a margin that random numbers hit
    return ("margin", random.uniform(-0.5, 2))


def binary(lib, kind):
    shape, how = any_shape(), reduction()
    w, ours = weight_or_none(lib, *shape[1:], *([1] if len(shape) == 1 else []))
    if kind == "BCELoss":
        xs = {"x": unit(*shape), "target": unit(*shape)}
        return Case(lib, nn.BCELoss(w, reduction=how), lib.adz_bce_loss_new(ours, REDUCTIONS[how]), positional, xs, {})
    if kind == "MultiLabelSoftMarginLoss":
        return Case(lib, nn.MultiLabelSoftMarginLoss(w, reduction=how),
                    lib.adz_multilabel_soft_margin_loss_new(ours, REDUCTIONS[how]), positional,
                    {"x": leaf(*shape), "target": unit(*shape)}, {})
    p, ours_p = weight_or_none(lib, shape[-1])
    return Case(lib, nn.BCEWithLogitsLoss(w, reduction=how, pos_weight=p),
                lib.adz_bce_with_logits_loss_new(ours, REDUCTIONS[how], ours_p), positional,
                {"x": leaf(*shape), "target": unit(*shape)}, {})


def classes(lib, kind):
    rows, c, how = random.randint(1, 5), random.randint(2, 6), reduction()
    more = () if kind == "MultiMarginLoss" else any_shape()[:random.randint(0, 2)]
    batch = not (not more and flip())
    w, ours = weight_or_none(lib, c)
    xs = {"x": leaf(rows, c, *more) if batch else leaf(c)}
    y = torch.randint(0, c, (rows, *more) if batch else ())
    if kind == "MultiMarginLoss":
        o = {"p": random.choice([1, 2]), "margin": random.uniform(-0.5, 2), "reduction": how}
        return Case(lib, nn.MultiMarginLoss(weight=w, **o),
                    lib.adz_multi_margin_loss_new(ours, options(lib, "adz_multi_margin_loss_options", **o)),
                    positional, xs, {"target": y})
    ignored = random.choice([-100, 0])
    if kind == "NLLLoss":
        return Case(lib, nn.NLLLoss(w, ignore_index=ignored, reduction=how),
                    lib.adz_nll_loss_new(ours, ignored, REDUCTIONS[how]), positional, xs, {"target": y})
    o = {"reduction": how, "label_smoothing": random.choice([0.0, 0.2])}
    if flip():
        xs["target"] = unit(*xs["x"].shape)
        y = {}
    else:
        o["ignore_index"] = ignored
        y = {"target": y}
    return Case(lib, nn.CrossEntropyLoss(w, **o),
                lib.adz_cross_entropy_loss_new(ours, options(lib, "adz_cross_entropy_options", **o)), positional, xs, y)


def linear_cross_entropy(lib):
    rows, size, c, how = random.randint(1, 5), random.randint(1, 4), random.randint(1, 5), reduction()
    more = any_shape()[:random.randint(0, 3)]
    batch = (rows,) if more or flip() else ()
    w, ours = weight_or_none(lib, c)
    o = {"reduction": how, "label_smoothing": random.choice([0.0, 0.2, 1.0]), "bias": flip()}
    xs, constants = {"x": leaf(*batch, size)}, {}
    if flip():
        xs["target"] = unit(*batch, c, *more)
    else:
        constants["target"] = torch.randint(0, c, (*batch, *more))
        if flip():
            o["ignore_index"] = random.choice([-1, 0])
    made = options(lib, "adz_linear_cross_entropy_loss_options", dtype=lib.ADZ_F64, **o)
    return Case(lib, nn.LinearCrossEntropyLoss(size, c, out_features=more, weight=w, **o),
                lib.adz_linear_cross_entropy_loss_new(size, c, lib.shape(*more), ours, made), positional, xs, constants)


def poisson(lib):
    shape = any_shape()
    o = {"log_input": flip(), "full": flip(), "eps": random.choice([1e-8, 1e-2]), "reduction": reduction()}
    x = torch.randn(*shape)
    x = (x if o["log_input"] else x.abs() + 0.1).requires_grad_()
    target = (torch.randint(0, 4, shape) + torch.rand(*shape)).requires_grad_(not o["full"])
    constants = {} if target.requires_grad else {"target": target}
    xs = {"x": x, "target": target} if target.requires_grad else {"x": x}
    return Case(lib, nn.PoissonNLLLoss(**o), lib.adz_poisson_nll_loss_new(
        options(lib, "adz_poisson_nll_loss_options", **o)), positional, xs, constants)


def gaussian(lib):
    shape = any_shape()
    o = {"full": flip(), "eps": random.choice([1e-6, 0.5]), "reduction": reduction()}
    xs = {"x": leaf(*shape), "target": leaf(*shape), "var": unit(*(shape[:-1] + (1,) if flip() else shape))}
    return Case(lib, nn.GaussianNLLLoss(**o), lib.adz_gaussian_nll_loss_new(
        options(lib, "adz_gaussian_nll_loss_options", **o)), positional, xs, {})


def ctc(lib):
    steps, batch, c, most = random.randint(4, 6), random.randint(1, 3), random.randint(2, 4), 2
    o = {"blank": random.randint(0, c - 1), "reduction": reduction(), "zero_infinity": flip()}
    labels = [k for k in range(c) if k != o["blank"]]
    targets = torch.tensor([[random.choice(labels) for _ in range(most)] for _ in range(batch)])
    lengths = torch.tensor([random.randint(4, steps) for _ in range(batch)])
    sizes = torch.tensor([random.randint(1, most) for _ in range(batch)])
    constants = {"log_probs": torch.randn(steps, batch, c).log_softmax(-1), "targets": targets,
                 "input_lengths": lengths, "target_lengths": sizes}
    case = Case(lib, nn.CTCLoss(**o), lib.adz_ctc_loss_new(options(lib, "adz_ctc_loss_options", **o)), positional, {},
                constants)

    def run(): # PyTorch's gradient is right only behind a log_softmax
        case.compare("result", case.results()[0][0], case.theirs(*constants.values()))
    case.run = run
    return case


def cosine_embedding(lib):
    n, d, how, margin = random.randint(1, 4), random.randint(1, 4), reduction(), random.uniform(-0.9, 0.9)
    xs = {"x1": torch.randn(n, d).requires_grad_(), "x2": torch.randn(n, d).requires_grad_()} # 1e-12 is not small beside 1e-3
    return Case(lib, nn.CosineEmbeddingLoss(margin=margin, reduction=how),
                lib.adz_cosine_embedding_loss_new(REDUCTIONS[how], margin), positional, xs, {"target": signs(n)})


def triplet(lib, kind):
    n, d = random.randint(1, 4), random.randint(1, 4)
    xs = {name: torch.randn(n, d).requires_grad_() for name in ("anchor", "positive", "negative")}
    o = {"margin": random.uniform(0.1, 9), "swap": flip(), "reduction": reduction()}
    if kind == "TripletMarginLoss":
        o.update(p=random.choice([1.5, 2.0, 3.0]), eps=random.choice([1e-6, 1e-2]))
        return Case(lib, nn.TripletMarginLoss(**o), lib.adz_triplet_margin_loss_new(
            options(lib, "adz_triplet_margin_loss_options", **o)), positional, xs, {})
    given = options(lib, "adz_triplet_margin_with_distance_loss_options", **o)
    form = random.choice(["default", "cosine", "bilinear"])
    distance, ours = {"default": lambda: (None, None),
                      "cosine": lambda: (nn.CosineSimilarity(), lib.adz_cosine_similarity_new(1, 1e-8)),
                      "bilinear": lambda: (nn.Bilinear(d, d, 2), lib.adz_bilinear_new(
                          d, d, 2, lib.options("adz_bilinear_options", dtype=lib.ADZ_F64)))}[form]()
    return Case(lib, nn.TripletMarginWithDistanceLoss(distance_function=distance, **o),
                lib.adz_triplet_margin_with_distance_loss_new(ours, given), positional, xs, {})


def multilabel(lib):
    n, c, how = random.randint(1, 4), random.randint(2, 5), reduction()
    rows = [(random.sample(range(c), random.randint(0, c)) + [-1] * c)[:c] for _ in range(n)]
    target = torch.tensor(rows)
    x = leaf(n, c)
    if flip():
        x, target = leaf(c), target[0]
    return Case(lib, nn.MultiLabelMarginLoss(reduction=how), lib.adz_multilabel_margin_loss_new(REDUCTIONS[how]),
                positional, {"x": x}, {"target": target})


def distance(lib):
    shape = any_shape()
    xs = {"x1": leaf(*shape), "x2": leaf(*shape)}
    if flip() and len(shape) > 1: # derivatives of small vectors lose digits on both sides
        xs = {name: torch.randn(*shape).requires_grad_() for name in xs}
        return Case(lib, nn.CosineSimilarity(dim=1), lib.adz_cosine_similarity_new(1, 1e-8), positional, xs, {})
    p, eps, keep = random.choice([1.5, 2.0, 3.0]), random.choice([1e-6, 0.1]), flip()
    return Case(lib, nn.PairwiseDistance(p, eps, keep), lib.adz_pairwise_distance_new(p, eps, keep), positional, xs, {})


def bilinear(lib):
    i, j, k, bias, shape = *(random.randint(1, 4) for _ in range(3)), flip(), any_shape()[1:]
    o = lib.options("adz_bilinear_options", dtype=lib.ADZ_F64, bias=bias)
    return Case(lib, nn.Bilinear(i, j, k, bias=bias), lib.adz_bilinear_new(i, j, k, o), positional,
                {"x1": leaf(*shape, i), "x2": leaf(*shape, j)}, {})


def embedding_bag(lib):
    v, d, mode = random.randint(2, 6), random.randint(1, 4), random.choice(["sum", "mean", "max"])
    o = {"mode": mode, "padding_idx": random.choice([None, 0, -1]), "include_last_offset": flip()}
    o["scale_grad_by_freq"] = mode != "max" and flip()
    ours = lib.adz_embedding_bag_new(v, d, lib.options(
        "adz_embedding_bag_module_options", dtype=lib.ADZ_F64, mode=["sum", "mean", "max"].index(mode),
        include_last_offset=o["include_last_offset"], scale_grad_by_freq=o["scale_grad_by_freq"],
        **({} if o["padding_idx"] is None else {"padding_idx": o["padding_idx"]})))
    length = random.randint(1, 9)
    ids = torch.randint(0, v, (length,) if flip() else (3, length))
    constants = {"ids": ids}
    if ids.dim() == 1:
        inner = sorted(random.randint(0, length) for _ in range(random.randint(0, 3)))
        constants["offsets"] = torch.tensor([0] + inner + ([length] if o["include_last_offset"] else []))
    xs = {"per_sample_weights": leaf(*ids.shape)} if mode == "sum" and flip() else {}

    def call(module, x, k):
        return [module(k["ids"], k.get("offsets"), x.get("per_sample_weights"))]
    return Case(lib, nn.EmbeddingBag(v, d, **o), ours, call, xs, constants)


def adaptive(lib):
    d, n = random.randint(4, 9), random.randint(1, 8)
    cutoffs = sorted(random.sample(range(1, 12), random.randint(1, 3)))
    o = {"div_value": random.choice([1.5, 2.0]), "head_bias": flip()}
    ours = lib.adz_adaptive_log_softmax_with_loss_new(
        d, 12, (ctypes.c_int64 * len(cutoffs))(*cutoffs), len(cutoffs),
        lib.options("adz_adaptive_log_softmax_with_loss_options", dtype=lib.ADZ_F64, whole_batch=flip(), **o))
    case = Case(lib, nn.AdaptiveLogSoftmaxWithLoss(d, 12, cutoffs, **o), ours, positional,
                {"x": leaf(n, d)}, {"target": torch.randint(0, 12, (n,))})
    run = case.run

    def run_all():
        run()
        x = case.tensor(case.inputs["x"])
        case.compare("log_prob", lib.adz_adaptive_log_softmax_with_loss_log_prob(ours, x),
                     case.theirs.log_prob(case.inputs["x"]))
        case.compare("predict", lib.adz_to(lib.adz_adaptive_log_softmax_with_loss_predict(ours, x), lib.ADZ_F64),
                     case.theirs.predict(case.inputs["x"]).double())
    case.run = run_all
    return case


KINDS = {
    "L1Loss": lambda lib: pair(lib, nn.L1Loss, lib.adz_l1_loss_new),
    "MSELoss": lambda lib: pair(lib, nn.MSELoss, lib.adz_mse_loss_new),
    "SmoothL1Loss": lambda lib: pair(lib, nn.SmoothL1Loss, lib.adz_smooth_l1_loss_new, ("beta", random.uniform(0.1, 2))),
    "HuberLoss": lambda lib: pair(lib, nn.HuberLoss, lib.adz_huber_loss_new, ("delta", random.uniform(0.1, 2))),
    "SoftMarginLoss": lambda lib: pair(lib, nn.SoftMarginLoss, lib.adz_soft_margin_loss_new,
                                       inputs=lambda s: {"x": leaf(*s), "target": signs(*s)}),
    "HingeEmbeddingLoss": lambda lib: pair(lib, nn.HingeEmbeddingLoss, lib.adz_hinge_embedding_loss_new, margins(),
                                           inputs=lambda s: {"x": leaf(*s), "target": signs(*s)}),
    "MarginRankingLoss": lambda lib: pair(lib, nn.MarginRankingLoss, lib.adz_margin_ranking_loss_new, margins(),
                                          inputs=lambda s: {"x1": leaf(*s), "x2": leaf(*s), "target": signs(*s)}),
    "KLDivLoss": kl_div, "LinearCrossEntropyLoss": linear_cross_entropy,
    "PoissonNLLLoss": poisson, "GaussianNLLLoss": gaussian, "CTCLoss": ctc,
    "CosineEmbeddingLoss": cosine_embedding, "MultiLabelMarginLoss": multilabel, "distances": distance,
    "Bilinear": bilinear, "EmbeddingBag": embedding_bag, "AdaptiveLogSoftmaxWithLoss": adaptive,
    **{k: lambda lib, k=k: binary(lib, k) for k in ("BCELoss", "BCEWithLogitsLoss", "MultiLabelSoftMarginLoss")},
    **{k: lambda lib, k=k: classes(lib, k) for k in ("NLLLoss", "CrossEntropyLoss", "MultiMarginLoss")},
    **{k: lambda lib, k=k: triplet(lib, k) for k in ("TripletMarginLoss", "TripletMarginWithDistanceLoss")},
}


def main():
    lib = Library(sys.argv[1], sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder:
        for name, make in KINDS.items():
            before = test_transformers.compared
            for number in range(count):
                torch.manual_seed(number)
                random.seed(number)
                scope = lib.adz_scope_open()
                case = make(lib)
                case.prints()
                case.exchange(folder)
                case.run()
                ours = case.ours
                lib.adz_module_release(ctypes.byref(ours))
                lib.adz_scope_close(scope)
            print(f"{name:30} {count} cases, {test_transformers.compared - before} numbers")
    print(f"{test_transformers.compared} numbers")


if __name__ == "__main__":
    main()
