"""Reference vectors of losses beyond the element by element ones, for generate.py."""

import torch
import torch.nn.functional as F


def ctc(tools, name, classes, targets, input_lengths, target_lengths, blank=0, reduction="mean",
        zero_infinity=False):
    """From scores, because PyTorch's gradient is the derivative behind a log_softmax only."""
    tools.seed(name)
    given = {"x": tools.leaf(7, len(input_lengths), classes), "targets": torch.tensor(targets),
             "input_lengths": torch.tensor(input_lengths),
             "target_lengths": torch.tensor(target_lengths)}
    y = F.ctc_loss(given["x"].log_softmax(-1), given["targets"], given["input_lengths"],
                   given["target_lengths"], blank, reduction, zero_infinity)
    tools.case(name, "ops", "torch ctc_loss behind log_softmax",
               {"op": "ctc_loss", "log_softmax": True, "blank": blank, "reduction": reduction,
                "zero_infinity": zero_infinity}, tools.with_gradients(given, {}, {"y": y}))


def losses(tools):
    leaf, op = tools.leaf, tools.op
    op("poisson_nll_loss_full", "poisson_nll_loss",
       lambda: {"x": leaf(3, 4), "target": torch.rand(3, 4).mul(4).requires_grad_()},
       lambda x, target: F.poisson_nll_loss(x, target, full=True), full=True, reduction="mean")
    op("poisson_nll_loss_rate", "poisson_nll_loss",
       lambda: {"x": torch.rand(3, 4).requires_grad_(), "target": leaf(3, 4)},
       lambda x, target: F.poisson_nll_loss(x, target, log_input=False, eps=1e-3, reduction="sum"),
       log_input=False, eps=1e-3, reduction="sum")
    op("gaussian_nll_loss_rows", "gaussian_nll_loss",
       lambda: {"x": leaf(3, 4), "target": leaf(3, 4), "var": torch.rand(3).requires_grad_()},
       lambda x, target, var: F.gaussian_nll_loss(x, target, var, full=True, eps=0.3),
       full=True, eps=0.3, reduction="mean")
    op("cosine_embedding_loss_pairs", "cosine_embedding_loss",
       lambda: {"x1": leaf(6, 3), "x2": leaf(6, 3), "target": torch.tensor([1, -1, 1, -1, -1, 1])},
       lambda x1, x2, target: F.cosine_embedding_loss(x1, x2, target, margin=-0.4),
       margin=-0.4, reduction="mean")
    op("triplet_margin_loss_swapped", "triplet_margin_loss",
       lambda: {"anchor": leaf(6, 3), "positive": leaf(6, 3), "negative": leaf(6, 3)},
       lambda anchor, positive, negative: F.triplet_margin_loss(
           anchor, positive, negative, margin=1.5, p=3, swap=True, reduction="none"),
       margin=1.5, p=3, swap=True, reduction="none")
    ctc(tools, "ctc_loss_padded", 5, [[1, 2, 2], [4, 1, 3], [3, 3, 3]], [7, 5, 6], [3, 2, 0])
    ctc(tools, "ctc_loss_joined", 4, [0, 2, 1, 1, 1], [7, 2, 6], [2, 2, 1], blank=3,
        reduction="none", zero_infinity=True)
