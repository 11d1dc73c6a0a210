"""Rounds of adze and of its peers in turn, on one thread: what derivatives.py and loops.py share.

A side is a process that runs a round for each line of standard input. Peers that need PyTorch or the present JAX
run in the interpreter of this script. JAX 0.4.31 is a side of its own, from another environment: it is the last JAX
before a new runtime, in which small functions take longer.
"""

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile

import peers

ALL = ("torch", "compile", "jax", "jax-0.4.31")


class Side:
    def __init__(self, command):
        environment = dict(os.environ, OMP_NUM_THREADS="1", JAX_PLATFORMS="cpu")
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(map(str, self.process.args))}: this side ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def interpreter(side):
    return peers.JAX_0_4 if side == "jax-0.4.31" else sys.executable


def there(names):
    """The sides whose interpreter is installed. A line on standard error names each other one."""
    found = [name for name in names if os.path.exists(interpreter(name))]
    for name in names:
        if name not in found:
            print(f"{name} is not installed; bench/peers.sh installs it", file=sys.stderr)
    return found


def begin(script, command, row, names, facts):
    """The sides of a row by name, and their first values. `command` is that of adze's side."""
    with tempfile.TemporaryDirectory() as folder:
        start = os.path.join(folder, "start.safetensors")
        sides = {"adze": Side([*command, "--start", start])}
        first = {"adze": sides["adze"].ask("first")["first_loss"]}
        if facts["captured"]:
            sides["captured"] = Side([*command, "--captured"])
        if facts.get("written"):
            sides["written"] = Side([*command, "--written"])
            first["written"] = sides["written"].ask("first")["first_loss"]
        for name in names:
            sides[name] = Side([interpreter(name), script, "--side", name, row, start])
            first[name] = sides[name].ask("first")["first_loss"]
    return sides, first


def compare(script, command, row, names, rounds, facts, least=False):
    """Runs rounds in turn and returns the median of each side, or its shortest time. The script ends if the first
    values differ."""
    sides, first = begin(script, command, row, names, facts)
    if not all(abs(value - first["adze"]) <= facts["tolerance"] * abs(first["adze"]) for value in first.values()):
        sys.exit(f"{row}: the sides differ: {first}")
    times = {name: [] for name in sides}
    floor = []
    for _ in range(rounds):
        for name, side in sides.items():
            answer = side.ask("round")
            times[name].append(answer["min_us" if least else "median_us"])
            if "by_hand_us" in answer:
                floor.append(answer["by_hand_min_us" if least else "by_hand_us"])
    for side in sides.values():
        side.end()
    middle = min if least else statistics.median
    found = {name: round(middle(values), 3) for name, values in times.items()}
    return {"row": row, **found, **({facts["least"]: round(middle(floor), 3)} if floor else {})}


def report(found, names, least):
    best = min(found[side] for side in names)
    own = "captured" if "captured" in found else "adze"
    floor = f"; {found[own] / found[least]:.2f} of its {least}" if least in found else ""
    print(", ".join(f"{name} {value} us" for name, value in found.items() if name != "row"))
    ways = "".join(f", {way} {best / found[way]:.2f} times" for way in ("captured", "written") if way in found)
    print(f"{found['row']}: {best / found['adze']:.2f} times as fast as the best peer{ways}{floor}", flush=True)


def answer(row, steps, first, step):
    """The rounds of a peer's side."""
    from rounds import answer_rounds
    answer_rounds(argparse.Namespace(bench=row, threads=1, steps=steps, rounds=True, first_loss=first()), step, {})


def main(script, description, rows, facts_of, command_of, names=ALL, extra=lambda row: ()):
    """The comparison that a script's command line asks for. `facts_of` gives the facts of a row: tolerance, whether
    it can be captured, whether it can be written as C, and the name of its floor."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program")
    parser.add_argument("--row", default=",".join(rows))
    parser.add_argument("--sides", default=",".join(names))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--least", action="store_true", help="shortest times instead of medians, for busy machines")
    parser.add_argument("--json", action="store_true", help="one object per row")
    arguments = parser.parse_args()
    for row in arguments.row.split(","):
        facts = facts_of(row)
        sides = there(arguments.sides.split(",")) + [name for name in extra(row) if
                                                     importlib.util.find_spec(name) is not None]
        found = compare(script, command_of(arguments.program, row), row, sides, arguments.rounds, facts,
                        arguments.least)
        if arguments.json:
            print(json.dumps(found), flush=True)
        else:
            report(found, sides, facts["least"])
    return 0
