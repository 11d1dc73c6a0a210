#!/usr/bin/env python3
"""Weights and optimizer state both ways between adze and PyTorch: trained here, loaded there, the same
outputs, and the same after one more step. Exits with 77 where there is no torch.

usage: test_exchange.py ADZE_SIDE
"""

import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import adze_state

ROWS, IN, WIDTH, OUT, STEPS = 16, 6, 8, 3, 7
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}

# As adze_side.c makes them.
OPTIMIZERS = {
    "SGD": dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": dict(lr=0.01, betas=(0.8, 0.999), amsgrad=True, weight_decay=0.01),
    "AdamW": dict(lr=0.01),
    "RMSprop": dict(lr=0.005, momentum=0.5, centered=True),
    "Adagrad": dict(lr=0.05),
    "RAdam": dict(lr=0.01),
}


class FeedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.layer2 = torch.nn.Linear(2 * WIDTH, WIDTH)
        self.linear_v = torch.nn.Linear(WIDTH, 2 * WIDTH, bias=False)

    def forward(self, x):
        return self.layer2(torch.nn.functional.gelu(self.layer1(x)) * self.linear_v(x))


def make_model(dtype):
    tied = torch.nn.Linear(WIDTH, WIDTH)
    return torch.nn.Sequential(
        torch.nn.Linear(IN, WIDTH), tied, torch.nn.ReLU(), tied, FeedForward(), torch.nn.LayerNorm(WIDTH),
        torch.nn.Linear(WIDTH, OUT)).to(dtype)


def make_optimizer(name, model):
    return getattr(torch.optim, name)(model.parameters(), **OPTIMIZERS[name])


def step(model, optimizer, x, target):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), target).backward()
    optimizer.step()


def compare(what, got, expected, times=1):
    worst = float((got - expected).abs().max() / (1 + expected.abs().max()))
    if got.shape != expected.shape or not worst <= times * TOLERANCE[expected.dtype]:
        raise SystemExit(f"{what}: {worst:.3g} apart")
    return worst


def compare_with_adze(folder, model, optimizer, x, target):
    """Outputs, and outputs and parameters after one more step, in which rounding has one more
    chance: the largest difference before and after."""
    theirs = adze_state.read(os.path.join(folder, "adze.safetensors"))[0]
    before = compare("outputs", model(x), theirs["y"])
    step(model, optimizer, x, target)
    after = compare("outputs after one more step", model(x), theirs["y_next"], 10)
    for name, parameter in model.named_parameters():
        what = f"{name} after one more step"
        after = max(after, compare(what, parameter, theirs["next." + name], 10))
    return before, after


def from_adze(program, name, dtype, folder):
    subprocess.run([program, "start", name, SHORT[dtype], folder], check=True)
    data = adze_state.read(os.path.join(folder, "data.safetensors"))[0]
    weights = os.path.join(folder, "weights.safetensors")
    alone = make_model(dtype)
    alone.load_state_dict(adze_state.load_weights(weights), strict=True)
    model = make_model(dtype)
    optimizer = make_optimizer(name, model)
    epoch, count = adze_state.load_checkpoint(
        os.path.join(folder, "run.safetensors"), model, optimizer)
    assert (epoch, count) == (2, STEPS)
    assert torch.equal(alone(data["x"]), model(data["x"]))
    states = optimizer.state_dict()["state"]
    assert len(states) == len(list(model.parameters())), "a parameter has no state"
    return compare_with_adze(folder, model, optimizer, data["x"], data["target"])


def to_adze(program, name, dtype, folder):
    torch.manual_seed(3)
    model = make_model(dtype)
    optimizer = make_optimizer(name, model)
    x, target = torch.randn(ROWS, IN, dtype=dtype), torch.randn(ROWS, OUT, dtype=dtype)
    for _ in range(STEPS):
        step(model, optimizer, x, target)
    adze_state.write(os.path.join(folder, "data.safetensors"), {"x": x, "target": target})
    adze_state.save_weights(model.state_dict(), os.path.join(folder, "weights.safetensors"))
    adze_state.save_checkpoint(
        os.path.join(folder, "run.safetensors"), model, optimizer, epoch=2, step=STEPS)
    # What is written is read as it was.
    again = make_model(dtype)
    other = make_optimizer(name, again)
    adze_state.load_checkpoint(os.path.join(folder, "run.safetensors"), again, other)
    step(again, other, x, target)
    subprocess.run([program, "go-on", name, SHORT[dtype], folder], check=True)
    worst = compare_with_adze(folder, model, optimizer, x, target)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
    return worst


def tied_names(folder):
    """A tied tensor is stored once and comes back under both names."""
    path = os.path.join(folder, "tied.safetensors")
    table = torch.randn(5, 4)
    adze_state.save_weights({"embedding.weight": table, "head.weight": table}, path)
    tensors, metadata = adze_state.read(path)
    assert list(tensors) == ["embedding.weight"]
    assert metadata["head.weight"] == "embedding.weight"
    loaded = adze_state.load_weights(path)
    assert torch.equal(loaded["head.weight"], table)


def every_dtype(folder):
    path = os.path.join(folder, "dtypes.safetensors")
    tensors = {str(dtype): torch.tensor([[0, 1, 1]]).to(dtype) for dtype in adze_state.NAMES}
    tensors["scalar"] = torch.tensor(2.5)
    tensors["empty"] = torch.zeros(3, 0)
    tensors["transposed"] = torch.arange(6.0).reshape(2, 3).t()
    adze_state.write(path, tensors)
    back = adze_state.read(path)[0]
    assert list(back) == list(tensors)
    for name, tensor in tensors.items():
        assert back[name].dtype == tensor.dtype and torch.equal(back[name], tensor), name


def bad_files(folder):
    """Cut short anywhere, or with a header that lies: refused, never a wrong tensor."""
    path = os.path.join(folder, "bad.safetensors")
    adze_state.write(path, {"a": torch.ones(3), "b": torch.ones(2)}, {"k": "v"})
    with open(path, "rb") as stream:
        good = stream.read()
    lies = [good[:length] for length in range(len(good))] + [good + b"\0"]
    for find, replace in [(b'"F32"', b'"F99"'), (b"[3]", b"[4]"), (b"[0,12]", b"[1,13]"),
                          (b'"b"', b'"a"'), (b"{", b"[")]:
        lies.append(good.replace(find, replace))
    for lie in lies:
        assert lie != good
        with open(path, "wb") as stream:
            stream.write(lie)
        try:
            adze_state.read(path)
        except adze_state.FormatError:
            continue
        raise SystemExit(f"a file of {len(lie)} bytes was read that should not be: {lie[:80]!r}")


def wrong_optimizer(folder):
    path = os.path.join(folder, "run.safetensors")
    model = make_model(torch.float32)
    adze_state.save_checkpoint(path, model, make_optimizer("SGD", model))
    before = json.dumps([p.sum().item() for p in model.parameters()])
    try:
        adze_state.load_checkpoint(path, model, make_optimizer("Adam", model))
    except adze_state.FormatError as error:
        assert "is a SGD" in str(error) and "a Adam" in str(error)
    else:
        raise SystemExit("Adam took the state of SGD")
    assert before == json.dumps([p.sum().item() for p in model.parameters()])


SHORT = {torch.float32: "f32", torch.float64: "f64"}


def main():
    program = sys.argv[1]
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for check in (tied_names, every_dtype, bad_files, wrong_optimizer):
            check(folder)
        for name in OPTIMIZERS:
            for dtype, short in SHORT.items():
                there = from_adze(program, name, dtype, folder)
                back = to_adze(program, name, dtype, folder)
                print(f"{name:8} {short}  to PyTorch {there[0]:.1e}, a step on {there[1]:.1e}"
                      f"  to adze {back[0]:.1e}, a step on {back[1]:.1e}")


if __name__ == "__main__":
    main()
