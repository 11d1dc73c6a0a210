#!/usr/bin/env python3
"""PyTorch's side of `adze-bench mlp`: the same training step, one thread, JSON.

usage: torch_mlp.py
"""

import json
import statistics
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(1)
network = nn.Sequential(nn.Dropout(0.05), nn.Linear(13, 50), nn.ReLU(), nn.Dropout(0.05),
                        nn.Linear(50, 1))
weights = [network[1].weight, network[4].weight]
biases = [network[1].bias, network[4].bias]
x, target = torch.randn(128, 13), torch.randn(128, 1)
PENALTY = 1e-6


def decayed():
    """The penalty as Adam's weight decay."""
    adam = torch.optim.Adam([{"params": weights, "weight_decay": 2 * PENALTY}, {"params": biases}])

    def step():
        loss = nn.functional.mse_loss(network(x), target)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
    return step


def in_loss():
    """The penalty as a part of the loss."""
    adam = torch.optim.Adam(weights + biases)

    def step():
        loss = nn.functional.mse_loss(network(x), target)
        loss = loss + PENALTY * sum((w * w).sum() for w in weights)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
    return step


def measure(step, calls=100, rounds=41):
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        for _ in range(calls):
            step()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times[1:]) * 1e6, min(times[1:]) * 1e6


def main():
    median, least = measure(decayed())
    loss_median, loss_least = measure(in_loss())
    print(json.dumps({"bench": "mlp", "torch": torch.__version__, "median_us": round(median, 3),
                      "min_us": round(least, 3), "penalty_in_loss_median_us": round(loss_median, 3),
                      "penalty_in_loss_min_us": round(loss_least, 3)}))


if __name__ == "__main__":
    main()
