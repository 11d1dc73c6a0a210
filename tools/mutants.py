#!/usr/bin/env python3
"""Breaks every backward in small ways and sees whether the tests notice.

usage: mutants.py [--jobs N] [--list] [OPERATOR...]

Works in a copy of the tree. For each operator, mutants are made by rule from its backward and fused
backward, in ops/<op>.c and ops/<op>.kernel.c; each is built and the operator's own tests are run.
A mutant that no test notices survives, and the script fails, unless tests/mutants.txt lists it as
equivalent, with the reason:

    <op> | <the line as mutated> | <why no test can tell it apart>
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"^(?:static |void |adz_)[^;=]*?\b(?:K\()?(\w*(?:backward|fused|_grad|spread)\w*)\)?\(")
POINTWISE = re.compile(r"^(?:POINTWISE\d|FUSED\w*)\((\w*backward\w*)")
LEAST = 4

CONSTANT = re.compile(r"(?<![\w\[.])(\d+\.?\d*)(?![\w\].])(?=\s*[,);*/+-])")

SWAPS = [
    (re.compile(r"(?<=[\w\])]) \+ (?=[\w(*-])"), " - "),
    (re.compile(r"(?<=[\w\])]) - (?=[\w(*])"), " + "),
    (re.compile(r"(?<=[\w\])]) \* (?=[\w(-])"), " / "),
    (re.compile(r"(?<=[\w\])]) / (?=[\w(-])"), " * "),
    (re.compile(r"\badz_add\("), "adz_sub("),
    (re.compile(r"\badz_sub\("), "adz_add("),
    (re.compile(r"\badz_mul\("), "adz_div("),
    (re.compile(r"\badz_div\("), "adz_mul("),
    (re.compile(r"\badz_neg\("), "adz_clone("),
    (re.compile(r"\badz_mul_number\("), "adz_div_number("),
    # the gradient that arrives, scaled, negated and shifted
    (re.compile(r"\bdy\[0\](?=[,);])"), "adz_mul_number(dy[0], 2)"),
    (re.compile(r"\bdy\[0\](?=[,);])"), "adz_mul_number(dy[0], -1)"),
    (re.compile(r"\bdy\[0\](?=[,);])"), "adz_add_number(dy[0], 1)"),
    (re.compile(r"(?<=->)(dim\d?)\b(?!\w)"), r"\1 - 1"),
    (re.compile(r"\bADZ_DIMS\((-?\d+)\)"), lambda m: f"ADZ_DIMS({int(m.group(1)) + 1})"),
    # a constant doubled; indices, sizes of types and comparisons with 0 are none
    (CONSTANT,
     lambda m: None if float(m.group(1)) == 0 else repr(2 * float(m.group(1)))
     if "." in m.group(1) else str(2 * int(m.group(1)))),
]
# Numbers that these take say which input or how many, not how much.
COUNTING = re.compile(r"\badzi_(?!gemm|fill)\w*\($")
CALL = re.compile(r"\b\w+\(")
DROP = re.compile(r"\bdx\[(\w+)\] = (?!NULL)")
SKIP = re.compile(r"^\s*(/?\*|//|for \(|#|if \(.*== NULL|.*adzi_fail|.*adzi_error|.*sizeof)")


def bodies(text):
    """The numbers of the lines that belong to a backward."""
    lines, inside = text.split("\n"), False
    for number, line in enumerate(lines):
        if POINTWISE.match(line):
            yield number
            while not lines[number].rstrip().endswith(")") and number + 1 < len(lines):
                number += 1
                yield number
        elif FUNCTION.match(line) and not line.rstrip().endswith(";"):
            inside = True
        elif line.startswith("}"):
            inside = False
        elif inside and not SKIP.match(line):
            yield number


def mutants(text):
    lines = text.split("\n")
    for number in sorted(set(bodies(text))):
        line = lines[number]
        code = line.split("/*")[0]
        for pattern, replacement in SWAPS:
            for match in pattern.finditer(code):
                before = CALL.findall(code[:match.start()])
                if pattern is CONSTANT and before and COUNTING.search(before[-1]):
                    continue
                new = replacement(match) if callable(replacement) else match.expand(replacement)
                if new is not None:
                    changed = line[:match.start()] + new + line[match.end():]
                    yield number, changed, "\n".join(lines[:number] + [changed] + lines[number + 1:])
        match = DROP.search(code)
        if match:
            changed = line[:match.start()] + f"dx[{match.group(1)}] = NULL; (void)" + \
                line[match.end():]
            rest = [re.sub(r"return adzi_status\(dx\[\w+\]\)", "return ADZ_OK", l)
                    for l in lines[number + 1:]]
            yield number, changed, "\n".join(lines[:number] + [changed] + rest)


def run(command, cwd, limit=300):
    try:
        return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "timed out")


def copy_tree(top, to):
    shutil.copytree(top, to, ignore=lambda folder, names: [
        n for n in names if n == ".git" or (n.startswith("build") and folder == str(top))])
    for command in (["meson", "setup", "build", "-Dexamples=false", "-Dbench=false",
                     "-Doptimization=1", "-Db_ndebug=true"],
                    ["ninja", "-C", "build", "tests/ops/test_ops"]):
        done = run(command, to, 3000)
        if done.returncode != 0:
            sys.exit(f"mutants.py: {' '.join(command)} failed\n{done.stdout[-3000:]}")


class Tally:
    def __init__(self):
        self.operators = self.made = self.built = 0
        self.survivors, self.few, self.equivalent = [], [], 0


def check_operator(op, tree, known, tally):
    folder = tree / "src/autograd/ops"
    baseline = run(["build/tests/ops/test_ops", op], tree)
    if baseline.returncode != 0:
        tally.survivors.append((op, 0, "the tests fail without a mutant"))
        return
    made = 0
    for path in (folder / f"{op}.c", folder / f"{op}.kernel.c"):
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        for number, changed, mutant in mutants(text):
            path.write_text(mutant, encoding="utf-8")
            tally.made += 1
            built = run(["ninja", "-C", "build", "tests/ops/test_ops"], tree)
            if built.returncode == 0:
                made += 1
                tally.built += 1
                if run(["build/tests/ops/test_ops", op], tree).returncode == 0:
                    if (op, changed.strip()) in known:
                        tally.equivalent += 1
                    else:
                        tally.survivors.append((op, number + 1, changed.strip()))
                        print(f"survivor: {op} | {changed.strip()}", flush=True)
        path.write_text(text, encoding="utf-8")
    run(["ninja", "-C", "build", "tests/ops/test_ops"], tree)
    tally.operators += 1
    if 0 < made < LEAST:
        tally.few.append((op, made))
    print(f"{op}: {made} mutants", flush=True)


def registered(top):
    text = (top / "src/autograd/ops/meson.build").read_text(encoding="utf-8")
    return re.findall(r"'(\w+)'", text[text.index("ops = ["):text.index("]")])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("operators", nargs="*")
    options = parser.parse_args()
    top = pathlib.Path(__file__).resolve().parent.parent
    operators = options.operators or registered(top)
    if options.list:
        for op in operators:
            for suffix in (".c", ".kernel.c"):
                path = top / "src/autograd/ops" / (op + suffix)
                if path.exists():
                    for number, changed, _ in mutants(path.read_text(encoding="utf-8")):
                        print(f"{path.name}:{number + 1}: {changed.strip()}")
        return
    known = set()
    listed = top / "tests/mutants.txt"
    if listed.exists():
        for line in listed.read_text(encoding="utf-8").splitlines():
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) == 3 and not line.startswith("#"):
                known.add((parts[0], parts[1]))
    tally = Tally()
    with tempfile.TemporaryDirectory() as temporary:
        trees = []
        for job in range(options.jobs):
            tree = pathlib.Path(temporary) / f"tree{job}"
            copy_tree(top, tree)
            trees.append(tree)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            def work(job):
                for op in operators[job::options.jobs]:
                    check_operator(op, trees[job], known, tally)
            list(pool.map(work, range(options.jobs)))
    print(f"{tally.operators} operators, {tally.built} mutants, {len(tally.survivors)} survivors, "
          f"{tally.equivalent} listed as equivalent")
    for op, made in tally.few:
        print(f"{op}: only {made} mutants, {LEAST} wanted")
    if tally.survivors or tally.few or tally.built == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
