#!/usr/bin/env python3
"""JAX's side of `adze-bench ffn-step`, `toy` and `mlp`: the whole step is one jitted function that gives its
weights back in place (donated buffers).

usage: jax_ffn.py [the options of torch_ffn.py]

For each line of standard input it runs a round and prints one line, as torch_ffn.py does. Weights and data
come from the file of --start. JAX takes the number of threads from the processors that the process may use.
"""

import os
import sys

from peers import run_with

run_with("jax")


def threads_of(arguments):
    return int(arguments[arguments.index("--threads") + 1]) if "--threads" in arguments else 1


# JAX looks at the processors when it starts.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads_of(sys.argv)])
os.environ["JAX_PLATFORMS"] = "cpu"

import argparse  # noqa: E402
import resource  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from rounds import add_options, answer_rounds  # noqa: E402
from start_file import read_start  # noqa: E402

ACTIVATIONS = {"relu": jax.nn.relu, "gelu": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu}


def drop(x, p, key):
    return jnp.where(jax.random.bernoulli(key, 1 - p, x.shape), x / (1 - p), 0) if p > 0 else x


def linear(w, name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def ffn(args):
    def predict(w, x, key, training):
        h = ACTIVATIONS[args.activation](linear(w, "layer1", x))
        if args.gated:
            h = h * linear(w, "linear_v", x)
        return linear(w, "layer2", drop(h, args.dropout if training else 0, key))
    return predict


def toy(_args):
    return lambda w, x, key, training: linear(w, "2", jax.nn.relu(linear(w, "0", x)))


def mlp(_args):
    def predict(w, x, key, training):
        first, second = jax.random.split(key)
        p = 0.05 if training else 0
        h = jax.nn.relu(linear(w, "1", drop(x, p, first)))
        return linear(w, "4", drop(h, p, second))
    return predict


def sgd(rate):
    return (lambda w: ()), lambda w, g, state: (
        {name: w[name] - rate * g[name] for name in w}, state)


def adam(rate, l2, decay):
    """Adam with the L2 penalty of mlp on matrices, or AdamW with its decay on all parameters."""
    def begin(w):
        return {name: jnp.zeros_like(x) for name, x in w.items()}, {
            name: jnp.zeros_like(x) for name, x in w.items()}, jnp.zeros((), jnp.int32)

    def update(w, g, state):
        m, v, t = state
        t = t + 1
        g = {name: g[name] + (l2 * w[name] if w[name].ndim > 1 else 0) for name in w}
        m = {name: 0.9 * m[name] + 0.1 * g[name] for name in w}
        v = {name: 0.999 * v[name] + 0.001 * g[name] ** 2 for name in w}
        size, root = rate / (1 - 0.9 ** t), jnp.sqrt(1 - 0.999 ** t)
        w = {name: w[name] * (1 - rate * decay) - size * m[name] / (jnp.sqrt(v[name]) / root + 1e-8)
             for name in w}
        return w, (m, v, t)
    return begin, update


def optimizer_of(args):
    if args.bench == "mlp":
        return adam(1e-3, 2e-6, 0)
    if args.bench == "toy":
        return sgd(0.01)
    return sgd(1e-3) if args.optimizer == "sgd" else adam(1e-4, 0, 0.01)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_options(p)
    args = p.parse_args()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    predict = {"ffn-step": ffn, "toy": toy, "mlp": mlp}[args.bench](args)
    w = {name: jnp.asarray(t) for name, t in read_start(args.start).items()}
    x, target = w.pop("x"), w.pop("target")

    def loss_of(w, key, training):
        return jnp.mean((predict(w, x, key, training) - target) ** 2)

    args.first_loss = float(loss_of(w, jax.random.key(1), False))
    begin, update = optimizer_of(args)

    @jax.jit
    def infer(w):
        return predict(w, x, None, False)

    def train(w, state, key):
        key, own = jax.random.split(key)
        loss, g = jax.value_and_grad(loss_of)(w, own, True)
        w, state = update(w, g, state)
        return w, state, key, loss

    jitted = jax.jit(train, donate_argnums=(0, 1, 2))
    held = [w, begin(w), jax.random.key(2)]

    def step():
        if args.mode == "infer":
            jax.block_until_ready(infer(w))
            return
        *held[:], loss = jitted(*held)
        jax.block_until_ready(loss)

    answer_rounds(args, step, {"jax": jax.__version__, "rss_before_kb": before})


if __name__ == "__main__":
    main()
