#!/usr/bin/env python3
"""Prints the table of training steps: adze, its peers and the floors, in turn, round by round.

usage: table.py ADZE_BENCH [--rows W1,mlp,W2,...] [--peers torch,compile,jax,...] [--rounds N]
                [--threads 1,2] [--json FILE] [--quick]

Peers: torch (eager), none (eager with set_to_none), installed (eager with the settings of its installation),
compile (torch.compile with inductor, mode max-autotune), jax (the whole step jitted, with donated buffers),
captured (a plan of adze) and packed (a plan of inference that packs the weights once). bench/peers.sh installs them; a peer that no Python has is left out. Floors are the
step's products alone in OpenBLAS, oneDNN and MKL.

Each row is one network. Its contenders are processes that stay alive and run one round of steps each in
turn, so all of them meet the same conditions. All start from the weights and data that adze's process saves.
If their first losses, without dropout, differ, the script ends with 1.

A ratio is computed from the two medians of one round, and the table shows the median over the rounds. On a
shared processor the speed doubles and halves within seconds, so only runs next to each other can be compared.

PyTorch runs with the OpenMP build of OpenBLAS and with raised trim and mmap thresholds of malloc, but for
"installed". A row in which two threads
got less than one and a half processors is run again, and marked with a * if that does not help.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from peers import mkl, python_with
from turns import agree

HERE = os.path.dirname(os.path.abspath(__file__))

# name: what it is, adze-bench's command, its options, steps of a round
ROWS = {
    "W1": ("Linear(1,32) ReLU Linear(32,1), batch 32, SGD", "toy", [], 2000),
    "mlp": ("13-50-1, dropout twice, batch 128, Adam", "mlp", [], 400),
    "W2": ("512-2048 ReLU, 4x10, SGD", "ffn-step",
           "--batch 4 --seq 10 --d-model 512 --d-ff 2048 --activation relu", 15),
    "W3": ("768-3072 GELU, 4x128, SGD", "ffn-step", "", 2),
    "W4": ("gated GELU 512-2048, 4x128, SGD", "ffn-step", "--d-model 512 --d-ff 2048 --gated", 3),
    "W5": ("W3 in bf16", "ffn-step", "--precision bf16", 2),
    "W6": ("W3 with AdamW", "ffn-step", "--optimizer adamw", 2),
    "W7": ("W3, inference", "ffn-step", "--mode infer", 5),
}
# Rows in which peers are strong: --rows rows4096,infer1,infer8,infer128
ROWS.update({
    "rows4096": ("W3 with 4,096 rows", "ffn-step", "--batch 32", 1),
    "infer1": ("W3, inference of 1 row", "ffn-step", "--mode infer --batch 1 --seq 1", 200),
    "infer8": ("W3, inference of 8 rows", "ffn-step", "--mode infer --batch 1 --seq 8", 100),
    "infer128": ("W3, inference of 128 rows", "ffn-step", "--mode infer --batch 1", 20),
})
# Other shapes, for cliffs: --rows odd,narrow,...
ROWS.update({
    "odd": ("333-1000 GELU, 3x77, SGD", "ffn-step",
            "--batch 3 --seq 77 --d-model 333 --d-ff 1000", 20),
    "one": ("768-3072 GELU, 1 row, SGD", "ffn-step", "--batch 1 --seq 1", 30),
    "narrow": ("64-64 ReLU, 32x64, SGD", "ffn-step",
               "--batch 32 --seq 64 --d-model 64 --d-ff 64 --activation relu", 60),
    "tall": ("32-4096 SiLU, 8x16, AdamW", "ffn-step",
             "--batch 8 --seq 16 --d-model 32 --d-ff 4096 --activation silu --optimizer adamw", 60),
    "large": ("1024-4096 GELU, 8x256, SGD", "ffn-step",
              "--batch 8 --seq 256 --d-model 1024 --d-ff 4096", 2),
    "small": ("128-512 SiLU, 1x16, SGD", "ffn-step",
              "--batch 1 --seq 16 --d-model 128 --d-ff 512 --activation silu", 300),
})


class Contender:
    """A process that runs a round for each line it gets."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **environment})
        self.found = []

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args}: ended with {self.process.wait()}")
        return json.loads(line)

    def round(self):
        self.found.append(self.ask("go"))
        time.sleep(0.03)  # OpenMP's threads spin for a while before they sleep

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def median(self, key="median_us"):
        values = [r[key] for r in self.found if r.get(key) is not None]
        return statistics.median(values) if values else None

    def ratios(self, other, key="median_us", over="median_us"):
        """The median over the rounds of this contender's `key` over the other's step; `key` may be
        several, whose sum is meant."""
        keys = key.split("+")
        pairs = [sum(mine[k] for k in keys) / its[over] for mine, its in zip(self.found, other.found)
                 if all(mine.get(k) is not None for k in keys)]
        return statistics.median(pairs) if pairs else None

    def processors(self):
        return self.median("cpu_us") / self.median()


def best_blas():
    """The environment in which PyTorch is at its best."""
    settings = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 30)}
    folder = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
    if os.path.isdir(folder):
        settings["LD_LIBRARY_PATH"] = ":".join(
            [folder] + os.environ.get("LD_LIBRARY_PATH", "").split(":")).rstrip(":")
    return settings


PEERS = ("torch", "none", "installed", "compile", "jax", "captured", "packed")


def peers_of(bench, command, names, options, settings):
    """Starts the peers that are named and installed."""
    best = {**settings, **best_blas()}
    found = {}
    for name in names:
        python = python_with("jax" if name == "jax" else "torch")
        if name == "captured":
            found[name] = Contender([bench, command, *options, "--captured"], {})
        elif name == "packed":
            if "infer" in options:
                found[name] = Contender([bench, command, *options, "--captured", "--packed"], {})
        elif python is not None and name == "jax":
            if "bf16" not in options:
                found[name] = Contender([python, os.path.join(HERE, "jax_ffn.py"), "--bench", command, *options],
                                        settings)
        elif python is not None:
            flag = {"none": ["--set-to-none"], "compile": ["--compile", "--set-to-none"]}.get(name, [])
            found[name] = Contender([python, os.path.join(HERE, "torch_ffn.py"), "--bench", command, *options, *flag],
                                    settings if name == "installed" else best)
    return found


def contenders(bench, row, threads, peers):
    _, command, options, steps = ROWS[row]
    options = options.split() if isinstance(options, str) else options
    more = [*options, "--threads", str(threads), "--steps", str(steps), "--rounds", "--json"]
    settings = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as folder:
        start = ["--start", os.path.join(folder, "start.safetensors")]
        found = {"adze": Contender([bench, command, *more, *start],
                                   {"ADZE_BENCH_MKL": mkl() or "", "MKL_THREADING_LAYER": "GNU"})}
        first = {"adze": found["adze"].ask("first")["first_loss"]}  # from here on the file is there
        # A plan starts from weights of its own, which are those of adze.
        found.update(peers_of(bench, command, peers, [*more, *start], settings))
        for name, contender in found.items():
            first[name] = contender.ask("first")["first_loss"]
    if len(found) > 1:
        agree(first, 1e-3 if "bf16" in options else 2e-6, sys.stderr)
    return found


def measure(bench, row, threads, rounds, peers):
    found = contenders(bench, row, threads, peers)
    for _ in range(rounds):
        for contender in found.values():
            contender.round()
    for contender in found.values():
        contender.end()
    return found


def shared_a_processor(found, threads, command):
    """Whether adze's or PyTorch's two threads got less than one and a half processors."""
    return threads > 1 and command == "ffn-step" and any(
        found[name].processors() < 0.75 * threads for name in ("adze", "torch") if name in found)


FLOORS = ("gemm_openblas_us", "gemm_onednn_us", "gemm_mkl_us")


def of_fastest_floor(adze):
    """The median over the rounds of adze's step over the fastest library's products."""
    ratios = [r["median_us"] / min(r[key] for key in FLOORS if r.get(key) is not None) for r in adze.found
              if any(r.get(key) is not None for key in FLOORS)]
    return statistics.median(ratios) if ratios else None


def line_of(row, threads, found, marked, peers):
    adze = found["adze"]
    cells = [row + ("*" if marked else ""), str(threads), f"{adze.median():,.1f}"]
    for key in ("by_hand_us", *FLOORS):
        floor = adze.ratios(adze, key)
        cells.append(f"{1 / floor:.2f}" if floor else "")
    fastest = of_fastest_floor(adze)
    cells.append(f"{fastest:.2f}" if fastest else "")
    for name in peers:
        cells.append(f"{found[name].ratios(adze):.2f}" if name in found else "")
    best = found.get("torch")
    cells.append(f"{best.ratios(adze, 'cpu_us', 'cpu_us'):.2f}" if best else "")
    memory = adze.found[0]
    cells.append(f"{memory.get('peak_rss_kb', 0) / 1024:.0f}")
    cells.append(f"{memory.get('allocator_peak_kb', 0) / 1024:.0f}")
    return cells


def head(peers):
    return ["step", "threads", "us", "of by hand", "of OpenBLAS's products", "of oneDNN's", "of MKL's",
            "of the fastest", *peers, "torch by processor time", "resident MB", "allocator MB"]


def show(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def versions(peers):
    """The packages that take part, or what is missing."""
    found = []
    for module in ("torch", "jax"):
        if any(name == module or (module == "torch" and name in PEERS[:4]) for name in peers):
            python = python_with(module)
            found.append(f"{module}: not installed (bench/peers.sh)" if python is None else subprocess.run(
                [python, "-c", f"import {module}; print('{module}', {module}.__version__)"], check=True,
                capture_output=True, text=True).stdout.strip())
    return "peers: " + "; ".join(found + [f"MKL: {mkl() and 'as floor' or 'not installed'}"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("bench")
    p.add_argument("--rows", help="W1 to W7 and mlp; W5 only where bf16 is fast")
    p.add_argument("--peers", default=",".join(PEERS), help="of " + ", ".join(PEERS))
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--json")
    p.add_argument("--quick", action="store_true", help="three rounds, for a look")
    args = p.parse_args()
    if shutil.which(args.bench) is None:
        raise SystemExit(f"{args.bench} is no program: build adze-bench first")
    info = subprocess.run([args.bench, "info"], capture_output=True, text=True, check=True).stdout
    print(info.strip())
    rows = args.rows or ("W1,mlp,W2,W3,W4,W5,W6,W7" if "medium: bf16 on" in info else
                         "W1,mlp,W2,W3,W4,W6,W7")
    peers = [name for name in args.peers.split(",") if name]
    unknown = set(peers) - set(PEERS)
    if unknown:
        raise SystemExit(f"--peers: there is no {', '.join(sorted(unknown))}")
    print(versions(peers))
    print("Columns of peers: how many times as fast adze's eager step is.")
    show(head(peers))
    show(["---"] * len(head(peers)))
    raw = []
    for row in rows.split(","):
        for threads in map(int, args.threads.split(",")):
            if ROWS[row][1] != "ffn-step" and threads > 1:
                continue
            for attempt in range(3):
                found = measure(args.bench, row, threads, 3 if args.quick else args.rounds, peers)
                marked = shared_a_processor(found, threads, ROWS[row][1])
                if not marked:
                    break
            show(line_of(row, threads, found, marked, peers))
            raw.append({"row": row, "what": ROWS[row][0], "threads": threads, "marked": marked,
                        **{name: c.found for name, c in found.items()}})
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(raw, out, indent=1)


if __name__ == "__main__":
    main()
