#!/usr/bin/env python3
"""Breaks the code in small ways and checks that a test notices each.

usage: mutants.py [--jobs N] [--list | --stale] [--only TEXT]... [--one-in N] [NAME...]

Operators: the script starts at the backward, the fused backward and the expression that an operator
registers. It follows their calls and kernels through src/ops, shared helpers included, and makes
mutants by rule from each function that it reaches. The rules swap + - * / and the operators of those names,
double constants, drop, scale or shift gradients, and move dimensions by one. They leave out the forward of
another public operator, which is that operator's business. They also leave out how work is cut into parts
(functions and lines of a `grain`) and memory that is requested ahead (those of a `fetch`).

For each mutant one object is compiled again; of a kernel it is the object of the baseline. The tests of the
operators that reach the function then run until one fails. A mutant of a kernel that survives is compiled for
the other instruction sets that the processor has, because some code serves wide registers only. A change that compiles to equal code at all levels is no mutant.

Other rooms: the files of src/optim, src/data, src/io, src/plan, src/nn, src/zoo, src/solvers and
src/solvers/functional, and the parts of src/base that they use, are mutated function by function. More rules apply to their decisions: comparisons that include or exclude their
border, == and !=, && and ||, guards that never hold, `!` and statements left out, true and false. COVER says
which tests run for which file. The sweep of wrong arguments over the file's public functions comes last. The
heads of loops and the release of memory are left to the sanitizers.

A mutant that no test notices survives, and the script fails, unless tests/mutants.txt lists it as
equivalent, with the reason:

    <name> | <the line as mutated> | <why no test can tell it apart>

NAME is one of these: a file of src/ops without its ending, which is an operator (relu) or a helper
(extreme); an entry of the table of elementwise functions (acos); a folder (optim); a file in a folder (optim/adam); or `backwards`, which means all files of
src/ops. With --only, only those mutants run whose line in --list contains one of the texts, for
example recurrent_run.c:52: or panels_of. With --one-in 10, one mutant in ten runs, chosen by a hash of its line,
so that a sample is the same everywhere.
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
import zlib

from mutants_c import ENTERED, ROOMS, all_mutants, in_room, items, words

TOP = pathlib.Path(__file__).resolve().parent.parent
OPS = "ops"
EXPORT_ENDINGS = (".rows.c", ".c99.c", ".onnx.c") # what exports know of operators
# Helpers outside of that folder whose formulas are derivatives.
DERIVATIVES = ["tensor/kernel/vmath_activations.h", "tensor/kernel/vmath_f32.h", "tensor/kernel/vmath_f64.h"]
TABLES = [OPS + "/elementwise/table.h", OPS + "/loss/table.h"] # an entry is an operator
# Those of its columns that are formulas.
FORMULA = re.compile(r"FUNCTION|DERIVED|STEPS|COMPARISON|TEST|KERNEL|UNROLLED|TRUTH|GRADIENT|EXPRESSION|SLOPE|LOSS")
LEAST = 4
LEVELS = ("baseline", "avx2", "avx512") # of src/base/isa.h
FLAGS = ("", "avx2 fma f16c bmi2", "avx512f avx512dq avx512bw avx512vl") # of /proc/cpuinfo, for each level
# Which of `meson test --list` cover a file of the rooms: the first line that fits. They run in this
# order until one fails.
COVER = [(re.compile(pattern), tests.split()) for pattern, tests in [
    (r"solvers/ode_(adapt|bdf|rodas|step)", "solvers stiff"),
    (r"solvers/", "solvers closures"),
    (r"solvers/functional/", "functional solvers closures jumps"),
    (r"optim/(schedule|one_cycle|plateau)", "schedules optim"),
    (r"optim/clip", "optim"),
    (r"solvers/closures", "closures strd"),
    (r"optim/(optimizer_type|check)", "optimizer_types"),
    (r"optim/optimizer", "optim optimizers schedules index flat_parameters distributed"),
    (r"optim/step", "optimizers optim closures flat_parameters distributed"),
    (r"optim/state", "optimizers optim closures checkpoint parallel_checkpoint"),
    (r"optim/update", "optimizer_types optimizers flat_parameters distributed"),
    (r"optim/", "optimizers optimizer_types optim"),
    (r"data/csv|base/number", "csv fuzz-csv data index"),
    (r"data/(tokenizer|unicode|vocabulary)|zoo/fastai/token", "tokenizer fuzz-tokenizer"),
    (r"data/standardizer", "data checkpoint"),
    (r"base/temporary", "saving"),
    (r"base/(grow|text)", "grow"),
    (r"base/(source|sink|bytes)", "saving npy safetensors csv tokenizer checkpoint"),
    (r"data/", "data checkpoint"),
    (r"io/finite", "finite export-mistakes"),
    (r"io/npy", "npy fuzz-npy"),
    (r"io/safetensors", "safetensors fuzz-safetensors index"),
    (r"io/(checkpoint_carried|scattered)", "parallel_checkpoint"),
    (r"io/checkpoint", "checkpoint safetensors parallel_checkpoint"),
    (r"io/", "checkpoint safetensors"),
    (r"plan/weights", "packed"),
    (r"plan/(snapshot|restore)", "restore trace export-mistakes"),
    (r"plan/plan.c", "calls plan changes host steps refused packed"),
    (r"plan/watch", "watch changes plan refused"),
    (r"plan/compare", "compare host plan"),
    (r"plan/(memory|updates)", "arrangement updates"),
    (r"plan/", "captured_call noted arrangement watch compare plan host changes refused"),
    (r"zoo/fastai/qrnn", "nn-qrnn nn-qrnn_layer nn-fastai"),
    (r"zoo/fastai/(transformer|positions)",
     "nn-fastai_transformer nn-fastai nn-fastai_attention nn-fastai_config"),
    (r"zoo/fastai/(pool|multi_batch)", "nn-fastai_classifier nn-fastai_config"),
    (r"zoo/fastai/loss", "nn-fastai_loss"),
    (r"zoo/fastai/decoder", "nn-fastai_decoder nn-fastai_config nn-fastai_classifier"),
    (r"zoo/fastai/groups", "nn-fastai_config"),
    (r"zoo/fastai/weight_dropout", "nn-fastai_dropout nn-fastai_awd_lstm"),
    (r"zoo/fastai/(attention|layer)", "nn-fastai_attention nn-fastai_transformer nn-fastai_config"),
    (r"zoo/fastai/awd_lstm", "nn-fastai_awd_lstm nn-fastai nn-fastai_classifier nn-fastai_config "
     "nn-fastai_decoder nn-fastai_dropout nn-qrnn"),
    (r"zoo/fastai/config", "nn-fastai_config nn-fastai nn-fastai_classifier nn-fastai_awd_lstm "
     "nn-fastai_transformer nn-qrnn"),
    (r"zoo/fastai/convert", "nn-fastai_decoder"),
    (r"zoo/fastai/dropout",
     "nn-fastai_dropout nn-fastai_awd_lstm nn-fastai nn-fastai_classifier nn-fastai_decoder nn-qrnn"),
    (r"zoo/fastai", "nn-fastai nn-fastai_attention nn-fastai_awd_lstm "
     "nn-fastai_classifier nn-fastai_config nn-fastai_decoder nn-fastai_dropout nn-fastai_loss "
     "nn-fastai_transformer nn-qrnn nn-qrnn_layer tokenizer"),
    (r"zoo/zoo", "modules nn-gpt2 nn-notebook nn-darts nn-fastai_dropout nn-fastai_loss nn-qrnn_layer "
     "nn-labml_transformer nn-fastai_transformer"),
    (r"zoo/gpt2", "nn-gpt2 modules"),
    (r"zoo/(labml|heads)", "nn-labml_attention nn-labml_transformer nn-fastai_attention nn-gpt2"),
    (r"nn/activation_checkpoint", "nn-activation_checkpoint modules"),
    (r"nn/layers/feed_forward", "nn-feed_forward modules sequential nn-notebook nn-darts"),
    (r"zoo/(darts|notebook)", "nn-darts nn-notebook modules"),
    (r"nn/layers/(activations|containers|dropout|embedding|linear)",
     "modules sequential module nn-feed_forward jumps init nn-recurrent nn-gpt2"),
    (r"nn/layers/conv", "nn-conv modules"),
    (r"nn/layers/layer_norm", "nn-layer_norm modules"),
    (r"nn/layers/functions", "nn-functions"),
    (r"nn/layers/recurrent", "nn-recurrent nn-gru_rnn modules"),
    (r"nn/micro_state", "micro_state"),
    (r"nn/batch_norm", "micro_state nn-recurrent modules nn-activation_checkpoint"),
    (r"nn/(init|orthogonal)", "init modules"),
    (r"nn/flat_parameters", "flat_parameters module optimizers"),
    (r"nn/", "module modules carried sequential index init nn-layer_norm nn-recurrent nn-feed_forward "
     "nn-gpt2 checkpoint flat_parameters jumps"),
]]

# ---- what there is to break ----------------------------------------------------------------------


def is_kernel(file):
    return ".kernel." in file or file in DERIVATIVES


class Source:
    """All of the operators' files, and which backward reaches which definition."""

    def __init__(self):
        root = TOP / "src"
        paths = sorted(p for p in (root / OPS).glob("**/*.[ch]") if not p.name.endswith(EXPORT_ENDINGS))
        paths += [root / f for f in DERIVATIVES]
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
        # What src/ops/meson.build lists and what it reads.
        self.entries = {name for table in TABLES for kind, name in
                        re.findall(r"^([A-Z0-9_]+)\((\w+)[,)]", self.text[table], flags=re.M)
                        if kind != "OWN_FILE"}
        own = [name for table in TABLES for name in
               re.findall(r"^OWN_FILE\((\w+)", self.text[table], flags=re.M)]
        rows = "".join(p.read_text("utf-8") for p in sorted((root / OPS).glob("**/*.rows.c")))
        self.registered = own + [
            row.split('"')[0] for row in rows.split('.op = "')[1:] if ".internal = true" not in row]
        text = (root / OPS / "meson.build").read_text(encoding="utf-8")
        composed = re.findall(r"'composed': \[(.*?)\]", text, flags=re.S)
        self.operators = {*self.registered, *self.entries, *re.findall(r"'(\w+)'", "".join(composed))}
        self.file_of = {path.name[:-2]: str(path.relative_to(root)) for path in paths
                        if path.name.endswith(".c") and not path.name.endswith(".kernel.c")}
        self.users = collections.defaultdict(list)
        self.differentiable = [op for op in self.registered if self.follow(op)]
        for item in (item for table in TABLES for item in self.items[table]):
            if item.name in self.entries and FORMULA.match(item.text):
                self.enter(item, item.name.removesuffix("_log") if item.name == "kl_div_log" else item.name)
        for op in sorted(self.entries - {"kl_div_log"}): # a backward that is no column
            for folder in {str(pathlib.PurePath(table).parent) for table in TABLES}:
                for item in self.items.get(folder + "/table.c", []):
                    if re.match(rf"{op}_(backward|expression)$", item.name):
                        self.enter(item, op)
        self.tests = {item: list(users) for item, users in self.users.items()}
        for op in sorted(self.operators): # a shared helper is the forwards' too
            for item in self.forward_of(op):
                if unit_of(item.file) not in self.operators and item in self.tests and \
                        op not in self.tests[item]:
                    self.tests[item].append(op)

    def enter(self, item, op):
        """Enters the operator as a user of a column of its entry, and of the helpers that the column names."""
        folder = str(pathlib.PurePath(item.file).parent)
        helpers = [f for f in self.items if str(pathlib.PurePath(f).parent) == folder and
                   (is_kernel(f) or unit_of(f) not in self.registered) and f not in TABLES]
        wait = [item]
        while wait:
            one = wait.pop()
            if op not in self.users[one]:
                self.users[one].append(op)
                wait += [i for f in helpers for i in self.items[f] if i.is_code and i.name in words(one)[0] and
                         i.name != op and (i.is_static or i.name.startswith("adzi_"))]

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
        for source in [file] + [f for f in self.included(file) if f in self.text]:
            here = [i for i in self.items[source] if self.matches(i, token)]
            if here and (source not in DERIVATIVES or "derivative" in token):
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
            re.match(r"(?!POINTWISE|UNROLLED_)[A-Z]", item.text) is not None)

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
        names = re.findall(r"\.(?:backward|fused|expression) = (\w+)", registration.text)
        return [i for name in names for i in self.resolve(name, registration.file)]

    def forward(self, op):
        return self.reach([i for i in self.items.get(self.file_of.get(op), [])
                           if i.name.startswith("adz_") or ENTERED.search(i.text)])

    def follow(self, op):
        """Enters the operator as a user of all that its backward reaches."""
        start = [i for i in self.items[self.file_of[op]]
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
            found[item.name if item.file in TABLES else unit_of(item.file)].append(item)
        return {unit: sorted(found[unit]) for unit in sorted(found)}


class Rooms:
    """The files of the rooms, each with the tests that cover it."""

    operators = frozenset()

    def __init__(self, source):
        root = TOP / "src"
        paths = sorted(p for room in ROOMS for p in (root / room).glob("**/*.[ch]")
                       if room != "base" or cover(str(p.relative_to(root))))
        self.text = {str(p.relative_to(root)): p.read_text(encoding="utf-8") for p in paths}
        self.items = {f: [i for i in items(f, t) if i.is_code] for f, t in self.text.items()}
        self.included = source.included
        self.tests = {item: cover(f) + self.sweep_of(f)
                      for f, found in self.items.items() for item in found}
        self.users = {item: tests[:1] for item, tests in self.tests.items()}

    def sweep_of(self, file):
        """The sweep of wrong arguments over the public functions of a file, or of its folder where
        it has none itself."""
        folder = pathlib.PurePath(file).parent
        for files in ([file], [f for f in self.items if pathlib.PurePath(f).parent == folder]):
            public = {i.name for f in files for i in self.items[f]
                      if i.name.startswith("adz_") and not i.is_static}
            if public:
                return [" ".join(["sweep", *sorted(public)])]
        return []

    def units(self):
        found = collections.defaultdict(list)
        for item in self.tests:
            found[unit_of(item.file)].append(item)
        return {unit: sorted(found[unit]) for unit in sorted(found)}


def cover(file):
    """The tests of a file, or None for one that no test is named for."""
    return next((tests for pattern, tests in COVER if pattern.match(file)), None)


def unit_of(file):
    """A file's name without its ending, in a room after the room's."""
    path = pathlib.PurePath(file)
    name = path.name.split(".")[0]
    return f"{path.parent}/{name}" if in_room(file) else name


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

    def __init__(self, tree, tests, setup):
        def left_out(folder, names):
            return [n for n in names if n == ".git" or
                    (n.startswith("build") and folder == str(TOP))]

        shutil.copytree(TOP, tree, ignore=left_out)
        self.tree, self.folder = tree, tree / "build"
        # A mutant's object calls what a shared library hides, so that every program gets a static one.
        self.must(["meson", "setup", "build", "-Dexamples=false", "-Dbench=false",
                   "-Ddefault_library=static", *setup])
        known = json.loads(self.must(["meson", "introspect", "--tests", "build"]))
        tests = {test.split()[0] for test in tests} # the rest are the program's arguments
        self.tests = {test["name"]: test for test in known if test["name"] in tests}
        for name in tests - self.tests.keys():
            sys.exit(f"mutants.py: there is no test {name}")
        programs = {os.path.relpath(test["cmd"][0], self.folder) for test in self.tests.values()}
        self.must(["ninja", "-C", "build", *sorted(programs)])
        self.compile = collections.defaultdict(dict) # by source and level
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            name = os.path.normpath(self.folder / entry["file"])
            isa = re.search(r"ADZI_ISA=(\w+)", entry["command"])
            if name.startswith(f"{tree}/src/"):
                self.compile[os.path.relpath(name, tree / "src")][
                    isa.group(1) if isa else LEVELS[0]] = shlex.split(entry["command"])
        self.links = {}
        for program in programs:
            commands = self.must(["ninja", "-C", "build", "-t", "commands", program])
            link = shlex.split(commands.strip().splitlines()[-1])
            if run(link + ["-fuse-ld=lld", "-o", "try"], self.folder).returncode == 0:
                link.append("-fuse-ld=lld")
            self.links[program] = link
        # malloc fills its memory, as under `meson test`, so that what was never set shows.
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", CMOCKA_TEST_ABORT="1",
                                MALLOC_PERTURB_="42")
        self.original, self.limits = {}, {}

    def must(self, command):
        done = run(command, self.tree, 3000)
        if done.returncode != 0:
            sys.exit(f"mutants.py: {' '.join(command)} failed\n{done.stdout[-3000:]}")
        return done.stdout

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
        # A compiler that is a cache itself would not notice a header that is new in an earlier folder.
        return run(command + ["-O1", "-w"], self.folder,
                   env={**os.environ, "CCACHE_DISABLE": "1"}).returncode == 0

    def untouched(self, source, level, job):
        """The bytes of the object without a mutant."""
        if (source, level) not in self.original:
            target = job / "untouched.o"
            self.object(source, level, job, target)
            self.original[source, level] = target.read_bytes()
        return self.original[source, level]

    def objects(self, source, item, mutant, job, levels):
        """Objects with the item mutated at the levels, and those where this makes other code; None
        where it does not compile."""
        file = item.file
        target = job / "src" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(mutant, encoding="utf-8")
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
            target.unlink()
        differ = [(level, o) for name, level, o in compiled
                  if o.read_bytes() != self.untouched(name, level, job)]
        return [o for _, o in differ], {level for level, _ in differ}

    def program_of(self, test):
        return os.path.relpath(self.tests[test.split()[0]]["cmd"][0], self.folder)

    def linked(self, program, objects, job):
        """The test program with these objects before the library's; None where that fails."""
        link, target = self.links[program], job / pathlib.PurePath(program).name
        at = link.index("-o") + 2
        command = link[:at - 1] + [str(target)] + [str(o) for o in objects] + link[at:]
        return target if run(command, self.folder).returncode == 0 else None

    def passes(self, program, test, seconds, level=LEVELS[0]):
        """Runs a test; the limit is the processor's time. The clock ends a mutant that waits forever,
        such as one whose ranks wait for each other."""
        name, *arguments = test.split()
        about = self.tests[name]
        command = ["sh", "-c", 'ulimit -c 0; ulimit -v 8000000; ulimit -t "$0"; exec "$@"',
                   str(seconds), str(program), *about["cmd"][1:], *arguments]
        environment = {**self.environment, **about["env"], "ADZE_CPU": level}
        return run(command, self.folder, 60 + 4 * seconds, env=environment).returncode == 0

    def limit(self, test):
        """Seconds that a mutant's tests may take; a mutant may run forever."""
        if test not in self.limits:
            before = os.times().children_user
            if not self.passes(self.folder / self.program_of(test), test, 300):
                sys.exit(f"{test}: it fails without a mutant")
            self.limits[test] = math.ceil(1 + 10 * (os.times().children_user - before))
        return self.limits[test]


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


def noticed(objects, levels, tests, build, job):
    """Whether some test fails with these objects at one of the levels."""
    programs = {}
    for level in [l for l in reversed(LEVELS) if l in levels]:
        for test in tests:
            name = build.program_of(test)
            if name not in programs:
                programs[name] = build.linked(name, objects, job)
            if programs[name] is None:
                if len(programs) > 1: # an earlier program did link with these objects
                    sys.exit(f"{test}: its program does not link with the library's objects")
                return None
            if not build.passes(programs[name], test, build.limit(test), level):
                return True
    return False


def levels_here():
    """The levels that this processor has."""
    found = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    here = set(found.group(1).split()) if found else set()
    return [level for level, flags in zip(LEVELS, FLAGS) if here.issuperset(flags.split())]


def survives(source, item, mutant, tests, build, job):
    """Whether no test fails, at any level that the item is compiled for and the processor has; None: does
    not compile, or to the same code."""
    changed = set()
    here = levels_here()
    for levels in [here[:1], here[1:]] if is_kernel(item.file) and here[1:] else [here[:1]]:
        made = build.objects(source, item, mutant, job, levels)
        if made is None:
            return None
        objects, others = made
        changed |= others
        seen = noticed(objects, others, tests, build, job)
        if seen is not False:
            return False if seen else None
    return True if changed else None


def place_of(item, number, changed):
    """How --list writes a mutant, and --only finds it."""
    return f"{item.file}:{number + 1}: {changed.strip()}"


def chosen(item, source, options):
    """An item's mutants that --only and --one-in ask for, or all."""
    for number, changed, mutant in all_mutants(source.text[item.file], item):
        place = place_of(item, number, changed)
        sampled = zlib.crc32(f"{item.file} {changed}".encode()) % options.one_in == 0
        if sampled and (not options.only or any(text in place for text in options.only)):
            yield number, changed, mutant


def tests_of(source, item):
    """The names that `meson test` has for what covers an item."""
    return [f"op-{op}" if source.operators else op for op in source.tests[item]]


def check_unit(unit, found, source, build, job, known, options):
    tally, start = Tally(), time.monotonic()
    for item in found:
        left = list(chosen(item, source, options))
        tests = tests_of(source, item)
        if left and source.operators:
            tests.sort(key=lambda test: (
                test != f"op-{unit}", test[3:] not in source.users[item], build.limit(test)))
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


def show(source, units, options):
    for unit in units.values():
        for item in unit:
            users = ", ".join(sorted(source.users[item]))
            for number, changed, _ in chosen(item, source, options):
                print(f"{place_of(item, number, changed)}   [{users}]")


def show_stale(kinds, units, options, known):
    """Prints the lines of tests/mutants.txt that no mutant writes any more. Says whether there are any."""
    written = {(unit, key_of(changed)) for (kind, _), some in zip(kinds, units) for unit, found in some.items()
               for item in found for _, changed, _ in chosen(item, kind, options)}
    stale = sorted(key for key in known if key not in written)
    for unit, line in stale:
        print(f"tests/mutants.txt lists what is no mutant: {unit} | {line}")
    print(f"{len(known)} lines, {len(stale)} of them stale")
    return bool(stale)


def conclude(source, units, options, known, tally):
    some = options.only or options.one_in > 1
    few = [] if options.names or some else [op for op in source.differentiable
                                                    if tally.of_operator[op] < LEAST]
    stale = [] if some else sorted(k for k in known - tally.matched if k[0] in units)
    print(f"{len(units)} files, {tally.built} mutants, {len(tally.survivors)} survivors, "
          f"{tally.equivalent} listed as equivalent")
    for op in few:
        print(f"{op}: only {tally.of_operator[op]} mutants, {LEAST} wanted")
    for unit, line in stale:
        print(f"tests/mutants.txt lists what is no survivor: {unit} | {line}")
    return bool(tally.survivors or few or stale or tally.built == 0)


def check_units(source, units, options, known, setup, temporary):
    """Builds the tests once and runs the mutants of all units in that build."""
    tests = {t for unit in units.values() for item in unit for t in tests_of(source, item)}
    build = Build(temporary / "tree", tests, setup)
    jobs = [temporary / f"job{n}" for n in range(options.jobs)]
    tally = Tally()

    def work(name):
        job = jobs.pop()
        try:
            return check_unit(name, units[name], source, build, job, known, options)
        finally:
            jobs.append(job)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for part in pool.map(work, units):
            tally.add(part)
    return tally


def asked_for(names, backwards, rooms):
    """The units of either kind that the names on the command line mean; all without names."""
    chosen = set()
    for name in names or ["backwards", *ROOMS]:
        found = [u for u in backwards if name in ("backwards", u)] or \
                [u for u in rooms if u == name or u.startswith(name + "/")]
        if not found:
            sys.exit(f"mutants.py: {name} has nothing to mutate")
        chosen.update(found)
    return [{u: units[u] for u in units if u in chosen} for units in (backwards, rooms)]


def main():
    parser = argparse.ArgumentParser(description="Mutants of every backward and of the rooms.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="show the mutants, build nothing")
    parser.add_argument("--stale", action="store_true",
                        help="show the lines of tests/mutants.txt that are no mutant, build nothing")
    parser.add_argument("--only", action="append", metavar="TEXT", help="just these mutants")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="just one mutant in N, by a hash")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    source = Source()
    rooms = Rooms(source)
    kinds = [(source, []), (rooms, ["-Dbuildtype=plain", "-Doptimization=0"])]
    units = asked_for(options.names, source.units(), rooms.units())
    if options.list:
        for (kind, _), some in zip(kinds, units):
            show(kind, some, options)
        return
    known, tally = listed(), Tally()
    if options.stale:
        sys.exit(show_stale(kinds, units, options, known))
    os.nice(5)
    for (kind, setup), some in zip(kinds, units):
        if some:
            with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
                tally.add(check_units(kind, some, options, known, setup,
                                      pathlib.Path(temporary).resolve()))
    if conclude(source, {**units[0], **units[1]}, options, known, tally):
        sys.exit(1)


if __name__ == "__main__":
    main()
