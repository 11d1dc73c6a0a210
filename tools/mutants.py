#!/usr/bin/env python3
"""Breaks every backward in small ways and sees whether the tests notice.

usage: mutants.py [--jobs N] [--list] [--only TEXT]... [NAME...]

Starting at what an operator registers as its backward and fused backward, the script follows the
calls and the kernels through src/autograd/ops, the helpers that several operators share included,
and makes mutants by rule from each function that it reaches: + - * / and the operators of those
names swapped, constants doubled, gradients dropped, scaled or shifted, dimensions off by one. A
public operator's forward is another operator's business and not followed; into how many parts work
is cut (functions and lines of a `grain`) and what memory is asked for ahead (those of a `fetch`) is
no formula. Of each mutant one object is compiled anew, of kernels the one of the baseline, on which
the tests of the operators that reach the function then run until one fails. A kernel's mutant that
survives this is compiled for the other instruction sets, and the tests run on each that the
processor has: some code is there for the wide ones alone. What compiles to the same code at all
levels is no mutant.

A mutant that no test notices survives, and the script fails, unless tests/mutants.txt lists it as
equivalent, with the reason:

    <name> | <the line as mutated> | <why no test can tell it apart>

NAME is a file of src/autograd/ops without its ending: an operator (relu) or a helper (extreme).
With --only, just the mutants run whose line in --list contains one of the texts: lstm_layer.c:74:
or panels_of.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
OPS = "autograd/ops"
# Helpers outside of that folder whose formulas are derivatives.
DERIVATIVES = ["tensor/vmath_activations.h", "tensor/vmath_f32.h", "tensor/vmath_f64.h"]
LEAST = 4
LEVELS = ("baseline", "avx2", "avx512") # of src/tensor/isa.h

# ---- reading C ----------------------------------------------------------------------------------

Item = collections.namedtuple("Item", "file name first last text is_static is_code")
TOKEN = re.compile(r"[A-Za-z_]\w*")
KERNEL = re.compile(r"\b[A-Z_]*KERNEL\w*\((\w+)")
ENTERED = re.compile(r"\bADZI_ENTER\w*\(&?\w+, (\w+)")
DEFINED = re.compile(r"(?:\b(?:K|VM)\((\w+(?:##\w+)?)\)|(\w+))\s*\((?![^()]*\)\()")


def without_comments(text):
    """The text with comments and strings blanked, each line and column where it was."""
    def blank(match):
        return re.sub(r"[^\n\\]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", blank, text,
                  flags=re.S)


def item_of(file, chunk, first, last):
    """What the top-level piece of C defines, or None."""
    text = "\n".join(chunk)
    macro = re.match(r"#\s*define\s+(\w+)", text)
    if macro:
        return Item(file, macro.group(1), first, last, text, True, True)
    called = re.match(r"([A-Z][A-Z_0-9]+)\((\w+)", text)
    if called:
        table = "TABLE" in called.group(1)
        return None if table else Item(file, called.group(2), first, last, text, False, True)
    value = re.match(r"(static )?(?:const )?[^({]*?\b(\w+)(?:\[[^\]]*\])*\s*=", text)
    if value:
        return Item(file, value.group(2), first, last, text, bool(value.group(1)), False)
    function = DEFINED.search(text.split("{")[0])
    if "{" in text and function and not text.startswith(("typedef", "enum", "struct", "extern")):
        name = function.group(1) or function.group(2)
        return Item(file, name, first, last, text, text.startswith("static"), True)
    return None


def items(file, text):
    """The top-level definitions of a file."""
    lines = without_comments(text).split("\n")
    chunk, first, depth, continued = [], 0, 0, False
    for number, line in enumerate(lines):
        if not chunk and not line.strip():
            continue
        if not chunk:
            first = number
            directive = line.startswith("#")
        chunk.append(line)
        if directive:
            ended = not line.rstrip().endswith("\\")
        else:
            depth += sum(line.count(c) for c in "({[") - sum(line.count(c) for c in ")}]")
            ended = depth == 0 and re.search(r"[;})]\s*$", line) and not (
                number + 1 < len(lines) and lines[number + 1].startswith("{"))
        if ended:
            item = item_of(file, chunk, first, number)
            if item is not None:
                yield item
            chunk, depth = [], 0


def words(item):
    """The names an item uses that may be definitions, and among them those of kernels."""
    kernels = set(KERNEL.findall(item.text)) | set(re.findall(r"\b(\w+)_kernels\b", item.text))
    found = set(TOKEN.findall(item.text)) | kernels
    return found | {"adzi_op_" + name for name in ENTERED.findall(item.text)}, kernels


def is_kernel(file):
    return ".kernel." in file or file in DERIVATIVES


class Source:
    """All of the operators' files, and which backward reaches which definition."""

    def __init__(self):
        root = TOP / "src"
        paths = sorted((root / OPS).glob("*.[ch]")) + [root / f for f in DERIVATIVES]
        self.text = {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in paths}
        self.items = {f: list(items(f, t)) for f, t in self.text.items()}
        self.includes = {
            str(p.relative_to(root)): re.findall(r'#include "([^"]+)"', p.read_text("utf-8"))
            for p in root.glob("**/*.[ch]")}
        self.exported = collections.defaultdict(list)
        for file in self.items:
            for item in self.items[file]:
                if not item.is_static and file not in DERIVATIVES:
                    self.exported[item.name].append(item)
        text = (root / OPS / "meson.build").read_text(encoding="utf-8")
        lists = re.findall(r"^(ops|composed) = \[(.*?)^\]", text, flags=re.S | re.M)
        self.registered = re.findall(r"'(\w+)'", dict(lists)["ops"])
        self.operators = set(re.findall(r"'(\w+)'", "".join(body for _, body in lists)))
        self.users = collections.defaultdict(list)
        self.differentiable = [op for op in self.registered if self.follow(op)]
        self.tests = {item: list(users) for item, users in self.users.items()}
        for op in sorted(self.operators): # a shared helper is the forwards' too
            for item in self.forward_of(op):
                if unit_of(item.file) not in self.operators and item in self.tests and \
                        op not in self.tests[item]:
                    self.tests[item].append(op)

    def included(self, file):
        """Files that this one includes, also by way of others."""
        found, wait = [], [file]
        while wait:
            for name in self.includes.get(wait.pop(), []):
                if name in self.includes and name not in found:
                    found.append(name)
                    wait.append(name)
        return found

    def resolve(self, token, file):
        """The definitions that a word in a file stands for."""
        for place in [file] + [f for f in self.included(file) if f in self.text]:
            here = [i for i in self.items[place] if self.matches(i, token)]
            if here and (place not in DERIVATIVES or "derivative" in token):
                return here
        if token.endswith("derivative"):
            return [i for f in DERIVATIVES for i in self.items[f]
                    if re.sub(r"^adzi_|_f\d\d$", "", i.name) == token]
        if is_kernel(file):
            return [] # kernels call only what they include
        return self.exported.get(token, []) or [
            i for name in self.exported if token.startswith(name + "_")
            for i in self.exported[name] if self.matches(i, token)]

    @staticmethod
    def matches(item, token):
        """POINTWISE2(name, ...) defines name; PAIR_LOSS(name, ...) also name_dx and name_dt."""
        return item.name == token or (
            token.startswith(item.name + "_") and "derivative" not in token and
            re.match(r"(?!POINTWISE)[A-Z]", item.text) is not None)

    def reach(self, starts, op=None):
        """What these definitions use, themselves included, but for other operators' forwards."""
        seen, wait = [], list(starts)
        while wait:
            item = wait.pop()
            entered = ENTERED.search(item.text)
            if item in seen or (item not in starts and entered and
                                entered.group(1) in self.registered):
                continue
            owner = unit_of(item.file)
            if op not in (None, owner) and owner in self.operators and \
                    item in self.forward_of(owner):
                continue
            seen.append(item)
            if re.search(r"\badzi_op \w+ =", item.text):
                wait += self.roots(item)
                continue
            found, kernels = words(item)
            for token in found:
                if token in kernels and not is_kernel(item.file): # not a function of that name
                    wait += [i for i in self.exported.get(token, []) if is_kernel(i.file)]
                if token != item.name and not token.startswith("adz_"):
                    wait += [i for i in self.resolve(token, item.file)
                             if i.file == item.file or token in kernels or
                             is_kernel(item.file) or not is_kernel(i.file)]
        return seen

    def roots(self, registration):
        names = re.findall(r"\.(?:backward|fused) = (\w+)", registration.text)
        return [i for name in names for i in self.resolve(name, registration.file)]

    def forward(self, op):
        return self.reach([i for i in self.items.get(f"{OPS}/{op}.c", [])
                           if i.name.startswith("adz_") or ENTERED.search(i.text)])

    def follow(self, op):
        """Enters the operator as a user of all that its backward reaches."""
        start = [i for i in self.items[f"{OPS}/{op}.c"]
                 if re.search(rf"\badzi_op adzi_op_{op} =", i.text)]
        for item in self.reach([i for s in start for i in self.roots(s)], op):
            if item.is_code and not item.name.startswith(("grain", "fetch")):
                self.users[item].append(op)
        return any(self.roots(s) for s in start)

    def forward_of(self, op, cache={}):
        if op not in cache:
            cache[op] = self.forward(op)
        return cache[op]

    def units(self):
        """What there is to mutate, by file name without ending."""
        found = collections.defaultdict(list)
        for item in self.users:
            found[unit_of(item.file)].append(item)
        return {unit: sorted(found[unit]) for unit in sorted(found)}


def unit_of(file):
    return pathlib.PurePath(file).name.split(".")[0]


# ---- the rules ----------------------------------------------------------------------------------

# An operand stands before and behind; a type or a cast before a star does not make a product.
BINARY = re.compile(r"(?P<before>[\w\])]) ?(?P<sign>[-+*/])(?P<after>=? ?)(?=[\w(*-])")
SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*"}
TYPE_BEFORE = re.compile(r"(?:\b(?:T|TY|S|const|void|char|int|float|double|restrict|\w+_t|"
                         r"adz_tensor|adzi?_\w+_args|\w*_attr|adzi?_node|\w*_kernels?|size_t)|"
                         r"\bK\(\w+\)) ?$|[*(,=] ?$|[eE]$")
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.?\d*(?:[eE][-+]?\d+)?)(?![\w.])")
RULES = [(re.compile(pattern), new) for pattern, new in [
    (r"\badz_add\(", "adz_sub("),
    (r"\badz_sub\(", "adz_add("),
    (r"\badz_mul\(", "adz_div("),
    (r"\badz_div\(", "adz_mul("),
    (r"\badz_neg\(", "adz_clone("),
    (r"\badz_mul_number\(", "adz_div_number("),
    # the gradient that arrives, scaled, negated and shifted
    (r"\bdy\[(\d|k)\](?=[,);])", r"adz_mul_number(dy[\1], 2)"),
    (r"\bdy\[(\d|k)\](?=[,);])", r"adz_mul_number(dy[\1], -1)"),
    (r"\bdy\[(\d|k)\](?=[,);])", r"adz_add_number(dy[\1], 1)"),
    (r"(?<=->)(dim\d?)\b", r"\1 - 1"),
    (r"\bADZ_DIMS\((-?\d+)\)", lambda m: f"ADZ_DIMS({int(m.group(1)) + 1})"),
]]
# Numbers that these take say which input or how many, not how much.
COUNTING = re.compile(r"\b(?:adzi_(?!gemm|fill)\w*|POINTWISE\d|KERNEL_FOR|K|VM)$")
DROP = re.compile(r"(\bd[a-z]{0,5}\[[^]]+\]) = (?!NULL|0;|\{)(?=.)")
SKIP = re.compile(r"^\s*(?:for \(|#\s*(?!define)|if \(.*== NULL|.*adzi_fail|.*adzi_error|.*sizeof|"
                  r".*adz_ones_like\(dy\[0\]\)|enum\b|.*\bgrain|.*\b(?:K\()?fetch|.*\bFETCH)")


def called(before):
    """The name before the innermost parenthesis that is open at the end of the text."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] in ")}]") - (before[at] in "({[")
        if depth < 0:
            return re.search(r"\w*$", before[:at]).group(0) if before[at] == "(" else ""
    return ""


def by_one(arguments):
    """Whether a call's last argument is 1 or -1: times it and over it are the same."""
    depth = 1
    for at, c in enumerate(arguments):
        depth += (c in "({[") - (c in ")}]")
        if depth == 0:
            return re.search(r", -?1$", arguments[:at]) is not None
    return False


def changes(code, above):
    """(from, to, replacement) within a line without comments; `above` is what stands before it."""
    for match in BINARY.finditer(code):
        at = match.start("sign")
        if TYPE_BEFORE.search(code[:at]) and match.group("sign") in "*-":
            continue
        if code[at:at + 2] in ("->", "--", "++", "**", "*)") or code[at - 1:at + 1] in ("--", "++"):
            continue
        yield at, at + 1, SIGNS[match.group("sign")]
    for pattern, new in RULES:
        for match in pattern.finditer(code):
            if match.group(0) == "adz_mul_number(" and by_one(code[match.end():]):
                continue
            yield match.start(), match.end(), new(match) if callable(new) else match.expand(new)
    for match in NUMBER.finditer(code):
        number = match.group(0)
        counts = COUNTING.search(called(above + code[:match.start()]))
        index = code[:match.start()].endswith("[") and code[match.end():].startswith("]")
        compared = re.search(r"[=!<>]= ?$|[<>] ?$|case $", code[:match.start()])
        if float(number) == 0 or index or compared or counts:
            continue
        yield match.start(), match.end(), repr(2 * float(number)) \
            if re.search(r"[.eE]", number) else str(2 * int(number))


def mutants(text, item):
    """(line number, the line as mutated, the file as mutated)"""
    lines, plain = text.split("\n"), without_comments(text).split("\n")
    first = item.first
    while not re.match(r"#|[A-Z]", item.text) and plain[first].strip() != "{":
        first += 1 # past the function's head
    for number in range(first, item.last + 1):
        line, code = lines[number], plain[number]
        if SKIP.match(code):
            continue
        if code.startswith("#"): # the words `#define NAME(a, b)` are no code
            head = re.match(r"#\s*define\s+\w+(\([^)]*\))?", code).end()
            code = " " * head + code[head:]
        seen = set()
        above = "\n".join(plain[first:number]) + "\n"
        for start, end, new in changes(code, above):
            changed = line[:start] + new + line[end:]
            if changed not in seen:
                seen.add(changed)
                yield number, changed, "\n".join(lines[:number] + [changed] + lines[number + 1:])
        for match in DROP.finditer(code):
            changed = line[:match.end()] + "1 ? 0 : " + line[match.end():]
            rest = [re.sub(r"return adzi_status\(\w+(?:\[\w+\])?\)", "return ADZ_OK", l)
                    for l in lines[number + 1:item.last + 1]] + lines[item.last + 1:]
            yield number, changed, "\n".join(lines[:number] + [changed] + rest)


def key_of(changed):
    """How tests/mutants.txt writes a mutated line."""
    return re.sub(r"\s+", " ", changed.rstrip("\\")).strip()


def listed():
    """The mutants known to be equivalent."""
    known = set()
    for line in (TOP / "tests/mutants.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        parts = line.split(" | ")
        if len(parts) < 3 or not parts[-1].strip():
            sys.exit(f"tests/mutants.txt: no reason: {line}")
        known.add((parts[0].strip(), key_of(" | ".join(parts[1:-1]))))
    return known


# ---- building and running -----------------------------------------------------------------------


def run(command, cwd, limit=300, **more):
    try:
        return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=limit, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "timed out")


class Build:
    """One build of the tests, in a copy of the tree; mutants are linked into copies of it."""

    def __init__(self, tree):
        def left_out(folder, names):
            return [n for n in names if n == ".git" or
                    (n.startswith("build") and folder == str(TOP))]

        shutil.copytree(TOP, tree, ignore=left_out)
        self.tree, self.folder = tree, tree / "build"
        for command in (["meson", "setup", "build", "-Dexamples=false", "-Dbench=false"],
                        ["ninja", "-C", "build", "tests/ops/test_ops"]):
            done = run(command, tree, 3000)
            if done.returncode != 0:
                sys.exit(f"mutants.py: {' '.join(command)} failed\n{done.stdout[-3000:]}")
        self.compile = collections.defaultdict(dict) # by source and level
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            name = os.path.normpath(self.folder / entry["file"])
            isa = re.search(r"ADZI_ISA=(\w+)", entry["command"])
            if name.startswith(f"{tree}/src/"):
                self.compile[os.path.relpath(name, tree / "src")][
                    isa.group(1) if isa else LEVELS[0]] = shlex.split(entry["command"])
        commands = run(["ninja", "-C", "build", "-t", "commands", "tests/ops/test_ops"], tree)
        self.link = shlex.split(commands.stdout.strip().splitlines()[-1])
        if run(self.link + ["-fuse-ld=lld", "-o", "try"], self.folder).returncode == 0:
            self.link.append("-fuse-ld=lld")
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", CMOCKA_TEST_ABORT="1")
        self.original, self.limits = {}, {}

    def object(self, source, level, job, target):
        """Compiles a source, with the job's mutated files before the tree's."""
        command = [word for word in self.compile[source][level] if word not in ("ccache", "-MD")]
        at = command.index("-o")
        mutated = job / "src" / source
        command[at:] = ["-o", str(target), "-c",
                        str(mutated if mutated.exists() else self.tree / "src" / source)]
        command[1:1] = [f"-I{job / 'src'}"]
        for flag in ("-MQ", "-MF"):
            at = command.index(flag)
            del command[at:at + 2]
        return run(command + ["-O1", "-w"], self.folder).returncode == 0

    def untouched(self, source, level, job):
        """The bytes of the object without a mutant."""
        if (source, level) not in self.original:
            target = job / "untouched.o"
            self.object(source, level, job, target)
            self.original[source, level] = target.read_bytes()
        return self.original[source, level]

    def program(self, source, item, mutant, job, levels):
        """Test program with the item mutated at the levels, and those where this makes other code;
        None where it does not compile."""
        file = item.file
        place = job / "src" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(mutant, encoding="utf-8")
        compiled = []
        try:
            if file in self.compile:
                changed = [file]
            else:
                changed = [f for f in self.compile if file in source.included(f) and (
                    unit_of(f) in source.tests[item] or unit_of(f) not in source.operators)]
            for number, name in enumerate(changed):
                for level in self.compile[name]:
                    if level in levels:
                        compiled.append((name, level, job / f"{number}.{level}.o"))
                        if not self.object(*compiled[-1][:2], job, compiled[-1][2]):
                            return None
        finally:
            place.unlink()
        differ = [(level, o) for name, level, o in compiled
                  if o.read_bytes() != self.untouched(name, level, job)]
        objects = [o for _, o in differ]
        target = job / "test_ops"
        at = self.link.index("-o") + 2
        command = self.link[:at - 1] + [str(target)] + [str(o) for o in objects] + self.link[at:]
        linked = run(command, self.folder).returncode == 0
        return (target, {level for level, _ in differ}) if linked else None

    def passes(self, program, op, seconds, level=LEVELS[0]):
        """Runs an operator's tests; the limit is the processor's time, not the clock's."""
        command = ["sh", "-c", 'ulimit -c 0; ulimit -v 8000000; ulimit -t "$2"; exec "$0" "$1"',
                   str(program), op, str(seconds)]
        environment = dict(self.environment, ADZE_CPU=level)
        return run(command, self.folder, 1800, env=environment).returncode == 0

    def limit(self, op):
        """Seconds that a mutant's tests may take; a mutant may run forever."""
        if op not in self.limits:
            before = os.times().children_user
            if not self.passes(self.folder / "tests/ops/test_ops", op, 300):
                sys.exit(f"{op}: the tests fail without a mutant")
            self.limits[op] = math.ceil(1 + 10 * (os.times().children_user - before))
        return self.limits[op]


class Tally:
    def __init__(self):
        self.built, self.survivors, self.equivalent = 0, [], 0
        self.of_operator = collections.Counter()
        self.matched = set()

    def add(self, other):
        self.built += other.built
        self.equivalent += other.equivalent
        self.survivors += other.survivors
        self.of_operator += other.of_operator
        self.matched |= other.matched


def survives(source, item, mutant, tests, build, job):
    """Whether no test fails, at any level that the item is compiled for; None: does not compile, or
    to the same code."""
    changed = set()
    for levels in [LEVELS[:1], LEVELS[1:]] if is_kernel(item.file) else [LEVELS[:1]]:
        made = build.program(source, item, mutant, job, levels)
        if made is None:
            return None
        program, others = made
        changed |= others
        for level in reversed(LEVELS):
            if level in others and not all(
                    build.passes(program, op, build.limit(op), level) for op in tests):
                return False
    return True if changed else None


def place_of(item, number, changed):
    """How --list writes a mutant, and --only finds it."""
    return f"{item.file}:{number + 1}: {changed.strip()}"


def chosen(item, source, only):
    """An item's mutants that --only asks for, or all."""
    for number, changed, mutant in mutants(source.text[item.file], item):
        if not only or any(text in place_of(item, number, changed) for text in only):
            yield number, changed, mutant


def check_unit(unit, found, source, build, job, known, only):
    tally, start = Tally(), time.monotonic()
    for item in found:
        left = list(chosen(item, source, only))
        tests = left and sorted(source.tests[item], key=lambda op: (
            op != unit, op not in source.users[item], build.limit(op)))
        for number, changed, mutant in left:
            survived = survives(source, item, mutant, tests, build, job)
            if survived is None:
                continue
            tally.built += 1
            for op in source.users[item]:
                tally.of_operator[op] += 1
            if not survived:
                continue
            key = (unit, key_of(changed))
            if key in known:
                tally.equivalent += 1
                tally.matched.add(key)
                continue
            tally.survivors.append(key)
            print(f"survivor: {item.file}:{number + 1}: {unit} | {key[1]}", flush=True)
    print(f"{unit}: {tally.built} mutants, {len(tally.survivors)} survivors, "
          f"{time.monotonic() - start:.0f} s", flush=True)
    return tally


def show(source, units, only):
    for unit in units.values():
        for item in unit:
            users = ", ".join(sorted(source.users[item]))
            for number, changed, _ in chosen(item, source, only):
                print(f"{place_of(item, number, changed)}   [{users}]")


def conclude(source, units, options, known, tally):
    named = bool(options.names)
    few = [] if named or options.only else [op for op in source.differentiable
                                            if tally.of_operator[op] < LEAST]
    stale = [] if options.only else sorted(k for k in known - tally.matched if k[0] in units)
    print(f"{len(source.differentiable) if not named else len(units)} "
          f"{'differentiable operators' if not named else 'names'}, {tally.built} mutants, "
          f"{len(tally.survivors)} survivors, {tally.equivalent} listed as equivalent")
    for op in few:
        print(f"{op}: only {tally.of_operator[op]} mutants, {LEAST} wanted")
    for unit, line in stale:
        print(f"tests/mutants.txt lists what is no survivor: {unit} | {line}")
    return bool(tally.survivors or few or stale or tally.built == 0)


def main():
    parser = argparse.ArgumentParser(description="Mutants of every backward.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="show the mutants, build nothing")
    parser.add_argument("--only", action="append", metavar="TEXT", help="just these mutants")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    source = Source()
    units = source.units()
    for name in options.names:
        if name not in units:
            sys.exit(f"mutants.py: {name} has nothing that a backward reaches")
    units = {n: units[n] for n in (options.names or units)}
    if options.list:
        return show(source, units, options.only)
    known, tally = listed(), Tally()
    os.nice(10)
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        build = Build(pathlib.Path(temporary).resolve() / "tree")
        jobs = [pathlib.Path(temporary) / f"job{n}" for n in range(options.jobs)]

        def work(name):
            job = jobs.pop()
            try:
                return check_unit(name, units[name], source, build, job, known,
                                  options.only)
            finally:
                jobs.append(job)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for part in pool.map(work, units):
                tally.add(part)
    if conclude(source, units, options, known, tally):
        sys.exit(1)


if __name__ == "__main__":
    main()
