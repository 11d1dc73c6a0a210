#!/usr/bin/env python3
"""States of layers both ways between adze and PyTorch: load_state_dict takes every name and shape, and
both sides compute the same. Exits with 77 where there is no torch.

usage: test_layers.py ADZE_LAYERS
"""

import os
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
    from torch.nn.utils import parametrizations
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import adze_state

TOLERANCE = 2e-6

# As adze_layers.c makes them.
LAYERS = {
    "conv1d": lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2),
    "conv1d_same": lambda: nn.Conv1d(4, 4, 4, padding="same", padding_mode="reflect"),
    "conv2d": lambda: nn.Conv2d(4, 3, (3, 2), padding=(1, 2), padding_mode="circular", bias=False),
    "depthwise": lambda: nn.Conv2d(4, 8, 3, groups=4, stride=(2, 1), padding=1, padding_mode="replicate"),
    "conv_transpose1d": lambda: nn.ConvTranspose1d(4, 5, 4, stride=3, padding=1, output_padding=1),
    "conv_transpose2d": lambda: nn.ConvTranspose2d(4, 6, (2, 3), stride=2, dilation=(1, 2), groups=2),
    "batch_norm2d": lambda: nn.BatchNorm2d(4),
    "batch_norm3d": lambda: nn.BatchNorm3d(4),
    "group_norm": lambda: nn.GroupNorm(2, 4),
    "instance_norm1d": lambda: nn.InstanceNorm1d(4, affine=True),
    "instance_norm2d": lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
    "instance_norm3d": lambda: nn.InstanceNorm3d(4, affine=True, track_running_stats=True),
    "rms_norm": lambda: nn.RMSNorm(9),
    "weight_norm": lambda: parametrizations.weight_norm(nn.Linear(9, 5)),
    "weight_norm_all": lambda: parametrizations.weight_norm(
        parametrizations.weight_norm(nn.Conv1d(4, 6, 3), dim=None), "bias"),
    "spectral_norm": lambda: parametrizations.spectral_norm(
        parametrizations.spectral_norm(nn.Conv2d(4, 3, 2)), "bias"),
    "spectral_transposed": lambda: parametrizations.spectral_norm(nn.ConvTranspose1d(4, 5, 3)),
    "lstm": lambda: nn.LSTM(9, 5, num_layers=2, bidirectional=True),
    "gru": lambda: nn.GRU(9, 5, num_layers=2, bidirectional=True, batch_first=True),
    "rnn": lambda: nn.RNN(9, 5, num_layers=2, nonlinearity="relu", bias=False),
    "lstm_cell": lambda: nn.LSTMCell(9, 5),
    "gru_cell": lambda: nn.GRUCell(9, 5),
    "rnn_cell": lambda: nn.RNNCell(9, 5),
}


def call(model, x):
    y = model(x)
    return y[0] if isinstance(y, tuple) else y


def compare(what, got, expected):
    worst = float((got - expected).abs().max() / (1 + expected.abs().max()))
    if got.shape != expected.shape or not worst <= TOLERANCE:
        raise SystemExit(f"{what}: {worst:.3g} apart")
    return worst


def draw(model):
    """Other numbers in all parameters and running statistics."""
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(0.2, 1)


def exchange(program, folder):
    subprocess.run([program, "write", folder], check=True)
    data = adze_state.read(os.path.join(folder, "layers.safetensors"))[0]
    expected = {}
    for name, make in LAYERS.items():
        path = os.path.join(folder, name + ".safetensors")
        if (name == "rms_norm" and not hasattr(nn, "RMSNorm") or
                name.startswith("weight_norm") and not hasattr(parametrizations, "weight_norm")):
            print(f"{name:17} this PyTorch has none")
            continue
        model = make().eval()
        model.load_state_dict(adze_state.load_weights(path), strict=True)
        worst = compare(f"{name} from adze", call(model, data[name + ".x"]), data[name + ".y"])
        draw(model)
        adze_state.save_weights(model.state_dict(), path)
        expected[name] = call(model, data[name + ".x"])
        print(f"{name:17} to PyTorch {worst:.1e}")
    subprocess.run([program, "read", folder], check=True)
    answers = adze_state.read(os.path.join(folder, "answers.safetensors"))[0]
    for name, y in expected.items():
        print(f"{name:17} to adze {compare(name + ' from PyTorch', answers[name + '.y'], y):.1e}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exchange(sys.argv[1], folder)


if __name__ == "__main__":
    main()
