#!/usr/bin/env python3
"""PyTorch's side of `adze-bench ffn-step`, `toy` and `mlp`: equal training steps, reported as JSON.

usage: torch_ffn.py [--bench ffn-step|toy|mlp] [the options of adze-bench ffn-step] [--set-to-none]
                    [--compile] [--rounds] [--start FILE]

With --rounds it runs one round for every line of standard input and prints one line for it. For the line
"first" it prints the loss of the first weights, without dropout. With --start it reads weights and data from a
file that `adze-bench --start` saved. With --compile, forward, backward and the optimizer's step are compiled
(torch.compile, mode max-autotune without CUDA graphs).
"""

import argparse
import resource

from peers import run_with

run_with("torch")

import torch  # noqa: E402
from torch import nn  # noqa: E402

from rounds import add_options, answer_rounds  # noqa: E402
from turns import load_start  # noqa: E402


def fast(args, function):
    """The function, compiled if the command line asks for it."""
    return torch.compile(function, mode="max-autotune-no-cudagraphs") if args.compile else function


def begin(args, network, x, target, loss_of):
    """Takes weights and data from the file, if there is one; the first loss, without dropout."""
    if args.start is not None:
        given = load_start(args.start)
        for own, name in ((x, "x"), (target, "target")):
            own.copy_(given.pop(name))
        network.load_state_dict(given, strict=True)
    network.eval()
    with torch.no_grad():
        args.first_loss = loss_of().item()
    network.train()


class FeedForward(nn.Module):
    """As `adz_feed_forward`, written the way PyTorch's users write it."""

    def __init__(self, d_model, d_ff, dropout, activation, gated):
        super().__init__()
        self.layer1 = nn.Linear(d_model, d_ff)
        self.layer2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.activation = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}[activation]()
        self.linear_v = nn.Linear(d_model, d_ff) if gated else None

    def forward(self, x):
        h = self.activation(self.layer1(x))
        if self.linear_v is not None:
            h = h * self.linear_v(x)
        return self.layer2(self.dropout(h))


def ffn_step(args):
    network = FeedForward(args.d_model, args.d_ff, args.dropout, args.activation, args.gated)
    x = torch.randn(args.batch, args.seq, args.d_model)
    target = torch.randn(args.batch, args.seq, args.d_model)
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16")

    def loss_of():
        with autocast:
            y = network(x)
        return nn.functional.mse_loss(y.float(), target)

    begin(args, network, x, target, loss_of)
    if args.mode == "infer":
        network.eval()
        predict = fast(args, network)

        def infer():
            with torch.no_grad(), autocast:
                predict(x)
        return infer
    make = torch.optim.SGD if args.optimizer == "sgd" else torch.optim.AdamW
    optimizer = make(network.parameters(), lr=1e-3 if args.optimizer == "sgd" else 1e-4)

    loss, update = fast(args, loss_of), fast(args, optimizer.step)

    def train():
        optimizer.zero_grad(set_to_none=args.set_to_none)
        loss().backward()
        update()
    return train


def toy(args):
    network = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))
    x = torch.randn(32, 1)
    target = x * x

    def loss_of():
        return nn.functional.mse_loss(network(x), target)

    begin(args, network, x, target, loss_of)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)

    loss, update = fast(args, loss_of), fast(args, optimizer.step)

    def train():
        optimizer.zero_grad(set_to_none=args.set_to_none)
        loss().backward()
        update()
    return train


def mlp(args, penalty=1e-6):
    network = nn.Sequential(nn.Dropout(0.05), nn.Linear(13, 50), nn.ReLU(), nn.Dropout(0.05),
                            nn.Linear(50, 1))
    weights = [network[1].weight, network[4].weight]
    biases = [network[1].bias, network[4].bias]
    x, target = torch.randn(128, 13), torch.randn(128, 1)

    def loss_of():
        return nn.functional.mse_loss(network(x), target)

    begin(args, network, x, target, loss_of)
    adam = torch.optim.Adam([{"params": weights, "weight_decay": 2 * penalty}, {"params": biases}])

    loss, update = fast(args, loss_of), fast(args, adam.step)

    def train():
        adam.zero_grad(set_to_none=args.set_to_none)
        loss().backward()
        update()
    return train


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_options(p)
    p.add_argument("--set-to-none", action="store_true")
    p.add_argument("--compile", action="store_true")
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step = {"ffn-step": ffn_step, "toy": toy, "mlp": mlp}[args.bench](args)
    answer_rounds(args, step, {"torch": torch.__version__, "rss_before_kb": before})


if __name__ == "__main__":
    main()
