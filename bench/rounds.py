"""What the peers' sides of `adze-bench ffn-step`, `toy` and `mlp` share: their options, and rounds of steps
that are reported as JSON."""

import json
import resource
import statistics
import sys
import time


def add_options(p):
    p.add_argument("--bench", choices=["ffn-step", "toy", "mlp"], default="ffn-step")
    for name, default in (("batch", 4), ("seq", 128), ("d-model", 768), ("d-ff", 3072),
                          ("threads", 1), ("steps", 30)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--activation", choices=["relu", "gelu", "silu"], default="gelu")
    p.add_argument("--gated", action="store_true")
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--optimizer", choices=["sgd", "adamw"], default="sgd")
    p.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    p.add_argument("--mode", choices=["train", "infer"], default="train")
    p.add_argument("--rounds", action="store_true")
    p.add_argument("--start", metavar="FILE")
    p.add_argument("--json", action="store_true", help="taken for adze-bench's sake; always JSON")


def one_round(step, steps):
    times = []
    usage = resource.getrusage(resource.RUSAGE_SELF)
    before = usage.ru_utime + usage.ru_stime
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"median_us": round(statistics.median(times) * 1e6, 3), "min_us": round(min(times) * 1e6, 3),
            "cpu_us": round((usage.ru_utime + usage.ru_stime - before) / steps * 1e6, 3),
            "peak_rss_kb": usage.ru_maxrss}


def answer_rounds(args, step, facts):
    """Runs one round, or with --rounds one for each line of standard input, and prints a line for it. For the
    line "first" it prints args.first_loss."""
    for _ in range(3):
        step()
    for line in sys.stdin if args.rounds else [""]:
        if line.startswith("first"):
            print(json.dumps({"bench": args.bench, "first_loss": args.first_loss}), flush=True)
            continue
        found = {"bench": args.bench, "threads": args.threads, **facts}
        found.update(one_round(step, args.steps))
        print(json.dumps(found), flush=True)
