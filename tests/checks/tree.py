#!/usr/bin/env python3
"""Rules about the source tree that no compiler knows.

usage: tree.py TOP
"""

import os
import pathlib
import re
import sys

import addresses

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
from shelves import shelves  # noqa: E402

# What a room may include; a room may include itself. Includes run one way.
ROOMS = {
    "base": set(),
    "tensor": {"base"},
    "autograd": {"base", "tensor"},
    "ops": {"base", "tensor", "autograd"},
    "nn": {"base", "tensor", "autograd", "ops"},
    "optim": {"base", "tensor", "autograd", "ops", "nn"},
    # The shelves on the core.
    "data": {"base", "tensor", "autograd", "ops", "nn"},
    "solvers": {"base", "tensor", "autograd", "ops", "nn", "optim", "plan"},
    "distributed": {"base", "tensor", "autograd", "ops", "nn", "data", "optim"},
    "plan": {"base", "tensor", "autograd", "ops", "nn", "optim"},
    "io": {"base", "tensor", "autograd", "ops", "nn", "data", "optim", "distributed"},
    "export": {"base", "tensor", "autograd", "ops", "nn", "data", "optim", "plan", "io"},
}

# Files beside an operator that belong to the room export: its row, and its printers for C and ONNX.
OF_EXPORT = re.compile(r"^(src/)?ops/.*\.(rows|c99|onnx)\.[ch]$")

# What a room takes from a room above it: the header that alone may include it, and the functions.
TAKES = {
    ("autograd", "ops"): ("src/autograd/operators.h", {
        # The sums of gradients.
        "adz_add", "adz_add_", "adzi_accumulate", "adzi_sum_to", "adz_expand", "adz_fill_", "adz_mul",
        # Copies, conversions, and values without a graph.
        "adz_clone", "adz_contiguous", "adz_copy_", "adz_detach", "adz_reshape", "adz_to", "adzi_compact_copy",
        # What a call of a program's own operator needs: inputs of one dtype, and results in place.
        "adzi_begin_inplace", "adzi_promote_inputs",
        # What the check of a program's own operator tries its derivatives with.
        "adz_cos",
    }),
}

# The files of a room from the ground up: each may use the files before it. A name stands for its source and its
# header, unless the header is listed by itself. A name with a slash at its end stands for a folder.
ORDER = {
    "base": [
        "bytes", "refs", "threads/kernel", "threads/addresses", "threads/cache", "isa", "cpu", "version", "handle.h", "random_generator",
        "threads/upcalls", "threads/fork", "alloc.h", "context.h", "threads/thread", "composed", "tracer", "threads/parallel.h", "threads/marks", "capture.h",
        # Memory: the system's, blocks that all threads share, what is counted, the lists of a thread.
        "system_memory", "blocks", "limit", "alloc", "grow", "number",
        "threads/request", "threads/part", "threads/pool", "threads/parallel", "capture", "frame",
        # Nothing before this line records an error.
        "errors/status", "errors/unheard", "error", "errors/error", "errors/die", "handle", "errors/not_captured", "door", "memory", "context", "options", "text", "index", "temporary",
        "source", "sink",
    ],
    "autograd": [
        "attr", "node.h", "saved", "node", "run.h", "listener.h", "op.h", "form.h", "operator.h", "hooks", "check", "grad_mode", "in_backward", "op", "record", "regions",
        "operators.h", "operator_call.h", "operator_kernel", "operator_expression", "operator", "derived", "leaf", "run", "delivery", "discover", "dot", "engine", "backward",
        "gradients", "gradcheck.h", "gradcheck_f32", "gradcheck", "operator_check",
    ],
}

# Symbols that a file may use although their definition lies above it in the room.
UPWARD = {
    "adzi_context_default": "a thread begins with a pointer to the context of the process",
    "adzi_context_threads": "a launch asks the context of its thread, which has the number of threads",
    "adz_autograd_grad": "a derived backward differentiates an expression, which is a backward inside another one",
}

# Words of docs/glossary.md that have one sense, and the rooms and files of src/ in which they may occur, alone or in
# the plural. "in place" and "the last place" of a number are other words.
ONE_SENSE = {
    "place": {"autograd", "ops", "nn", "tensor", "plan/snapshot.c", "plan/snapshot.h"},
    # The tape records, and so does a thread its errors. A plan captures, and an export traces.
    "recording": {"autograd", "base", "ops", "nn", "solvers", "zoo"},
}
OTHER_WORDS = re.compile(r"\b([Ii]n(-|\s+(\*\s+)?)place\b(?!\s+(\*\s+)?of\b)|last\s+(\*\s+)?place\b)")

# The room of each public header. adze.h is the umbrella over all; custom.h spans operators and
# modules and is included by whoever defines one.
HEADERS = {
    "base": "base", "dlpack": "tensor", "scope": "tensor", "tensor": "tensor", "random": "tensor", "typed": "tensor",
    "precision": "base", "real": "tensor", "sequences": "tensor", "fields": "tensor", "options": "tensor",
    "checks": "tensor",
    "autograd": "autograd", "hooks": "autograd", "functional": "solvers", "loops": "solvers", "recurrence": "solvers", "solvers": "solvers", "ops": "ops",
    "custom": "autograd", "operator": "autograd",
    "nn": "nn", "data": "data", "optim": "optim", "distributed": "distributed",
    "data_parallel": "distributed", "io": "io", "export": "export", "plan": "plan",
}
UMBRELLAS = {"adze.h", "custom.h"}

# Libraries apart from libadze, which use its public headers only: their folder and header.
SEPARATE = {"mpi", *shelves()}

LINES_PER_FILE = 500

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|[Uu]nimplemented|[Nn]ot (yet )?implemented)\b")
MACHINE_PATH = re.compile(r"(^|[^\w.$}/-])/(home|root|work|Users|tmp|mnt)/\w")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)[^)]*\)")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
HEAP = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|free|strdup|strndup|aligned_alloc"
                  r"|posix_memalign)\s*\(")

# What cmocka 2 marks as deprecated. Its replacements are not in cmocka 1, so tests use neither.
CMOCKA_DEPRECATED = re.compile(
    r"\b(assert_(?:not_)?in_(?:range|set)|check_expected|LargestIntegralType|cm_print_error|unit_test\w*"
    r"|cast_\w*to_\w*largest_integral_type|run_(?:group_)?tests?|will_(?:return|set_parameter)\w*"
    r"|expect_(?:check|(?:not_)?in_set|(?:not_)?in_range|(?:not_)?value)(?:_count)?)\s*[( ]")

# Memory comes from one file, BLAS is reached through one file, and LAPACK is not called.
# A thread's own state holds the free lists and cannot come from them. libadze-mpi and libadze-onnx
# see the public functions only.
HEAP_FILES = {"src/base/system_memory.c", "src/base/threads/thread.c", "src/mpi/mpi.c", "src/onnx/memory.c"}
BLAS_FILES = {"src/tensor/gemm/openblas.h"}
FRAME = re.compile(r"\badzi_frame_begin\b")
LAPACK = re.compile(r"\b[sd](?:sy|ge|po|or|tr|bd|st)[a-z]{2,3}\d?_\s*\(")

# What exports know of an operator is its row. Other files of theirs may name C's functions or ONNX's nodes.
ROWS = re.compile(r"src/ops/.*\.rows\.c|src/export/(rows|c99/math)\.c|src/export/c99/sources/")
COMPOSED = re.compile(r"'composed': \[(.*?)\]", re.S)
ENTRY = re.compile(r"^[A-Z0-9_]+\((\w+)[,)]", re.M)
ROW = re.compile(r'\.op = "(\w+)"')
COMPARED = re.compile(r"\bstr\w+\([^;]*\bop->name\b|\bop->name\[")
TOKEN = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\])+'|\w+|[(){}\n]", re.S)

# The beginning of an operator's call, and what says why an operator does not use the form (autograd/form.h).
ENTERED = re.compile(r"\b(ADZI_ENTER(_OPTIONAL)?|adzi_enter)\(")
WRITTEN_OUT = "call is written out"

TEXT = (".c", ".h", ".cc", ".py", ".sh", ".md", ".build", ".map", ".in", ".txt")


def files(top):
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders
                            if not f.startswith("build") and f not in (".git", "subprojects"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), top)
            if name.endswith(TEXT) or path.startswith(".ci"):
                yield path


def without_comments(text):
    keep_lines = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", keep_lines, text, flags=re.S)


def room_of(path):
    """The room of a file of src/, whose path begins there or above it."""
    parts = path.removeprefix("src/").split("/")
    return "export" if OF_EXPORT.match(path) else parts[0]


def folder_of(path):
    """The folder of a file whose path begins in src/. What exports know of an operator counts as one folder."""
    return "export/operators" if OF_EXPORT.match(path) else os.path.dirname(path)


def room_of_include(target):
    parts = target.split("/")
    if OF_EXPORT.match(target):
        return "export"
    if parts[0] == "adze" and len(parts) > 1:
        return HEADERS.get(parts[1].removesuffix(".h"))
    return parts[0] if parts[0] in ROOMS and len(parts) > 1 else None


def position(room, name):
    """The position in ORDER of a file, "threads/thread.h" of the room base; None if it is not listed."""
    stem = name.rsplit(".", 1)[0]
    ranks = {}
    for rank, entry in enumerate(ORDER[room]):
        ranks.update({one: rank for one in (entry if isinstance(entry, tuple) else (entry,))})
    folders = (name[:i + 1] for i, c in enumerate(name) if c == "/")
    return next((ranks[one] for one in (name, stem, *folders) if one in ranks), None)


def check_order(path, lines):
    """Includes within a room run one way, too. links.py looks at the symbols."""
    _, room, name = path.split("/", 2)
    here = position(room, name)
    if here is None:
        yield 1, f"{name} has no position in the room {room}: ORDER in tests/checks/tree.py needs one"
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        other, _, target = match.group(1).partition("/") if match else ("", "", "")
        if other == room and (position(room, target) or 0) > here:
            yield number, f"{name} includes {target}, which lies above it in the room {room}"


def check_words(path, text):
    """A word with one sense does not stand for another thing elsewhere."""
    room = room_of(path)
    text = OTHER_WORDS.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    for word, rooms in ONE_SENSE.items():
        if room in rooms or path.removeprefix("src/") in rooms:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(rf"\b{word}s?\b", line, re.I):
                yield number, f'"{word}" has the sense of docs/glossary.md only, which the room {room} has no use for'


def check_separate(path, lines):
    """A library apart from libadze uses what a program of the user's could use, and headers of its own folder,
    which are named from that folder."""
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        first = match.group(1).split("/")[0] if match and '"' in line else ""
        if first in ROOMS or first in SEPARATE or first in ("..", "src"):
            yield number, f"a library of its own includes {match.group(1)}; it uses the public headers only"


def check_includes(path, lines):
    parts = path.split("/")
    if parts[0] == "src" and parts[1] in SEPARATE:
        yield from check_separate(path, lines)
        return
    if path.startswith("include/adze/") and parts[2].removesuffix(".h") in SEPARATE:
        return
    if parts[0] == "src" and len(parts) > 2:
        room = room_of(path)
    elif path.startswith("include/adze/") and path.endswith(".h") and parts[2] not in UMBRELLAS:
        room = HEADERS.get(parts[2].removesuffix(".h"))
        if room is None:
            yield 1, f"{parts[2]} belongs to no room that tests/checks/tree.py knows"
            return
    else:
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        target = room_of_include(match.group(1)) if match else None
        if target and target != room and target not in ROOMS[room] and TAKES.get((room, target), ("",))[0] != path:
            yield number, f"{room} includes {match.group(1)}, of the room {target} above it"
        if match and re.match(r"adze/(" + "|".join(sorted(SEPARATE)) + r")[./]", match.group(1)):
            yield number, f"{match.group(1)} belongs to another library, which libadze does not need"
        if match and match.group(1) == "adze/adze.h":
            yield number, "the library's own files include what they need, not the umbrella"


def operators(top):
    """The names of all operators."""
    found = set()
    for path, pattern in (("src/ops/meson.build", COMPOSED), ("src/ops/elementwise/table.h", ENTRY),
                          ("src/ops/loss/table.h", ENTRY)):
        if os.path.exists(os.path.join(top, path)):
            with open(os.path.join(top, path), encoding="utf-8") as stream:
                found.update(name for names in pattern.findall(stream.read()) for name in re.findall(r"\w+", names))
    ops = os.path.join(top, "src/ops")
    for path in files(ops):
        if path.endswith(".rows.c"):
            with open(os.path.join(ops, path), encoding="utf-8") as stream:
                found.update(ROW.findall(stream.read()))
    return found


def named_operators(text, names):
    """Line and name of each operator that is compared with or stands in a list, maybe in a macro of the file. The
    argument of another function may be the name of an attribute."""
    opened, word, line = [], "", 1
    for token in TOKEN.findall(text):
        if token in "({":
            opened.append(token if token == "{" else word)
        elif token in ")}" and opened:
            opened.pop()
        elif token[0] == '"' and token[1:-1] in names:
            taker = opened[-1] if opened else "{"
            if taker.startswith(("{", "str")) or (taker.isupper() and not taker.startswith("ADZI_")):
                yield line, token[1:-1]
        word = token
        line += token.count("\n")


def check_export(top, path, text):
    """Nothing but a row is found by an operator's name."""
    if not path.startswith("src/") or not path.endswith((".c", ".h")) or room_of(path) != "export" or ROWS.match(path):
        return
    for number, name in named_operators(text, operators(top)):
        yield number, f'"{name}" is an operator: what exports know of it stands in its row (src/export/rows.h)'
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if COMPARED.search(line):
            yield number, "the name of an operator decides: let its row say so (src/export/rows.h)"


def check_file(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as stream:
        text = stream.read()
    lines = text.splitlines()
    yield from check_includes(path, lines)
    yield from check_export(top, path, text)
    yield from check_calls(path, text)
    if path.startswith("src/") and path.count("/") > 1 and path.endswith((".c", ".h")):
        yield from check_words(path, text)
    if path.endswith((".c", ".h")) and path.startswith(tuple(f"src/{room}/" for room in ORDER)):
        yield from check_order(path, lines)
    if path.startswith(("src/", "include/")) and path.endswith((".c", ".h")):
        if len(lines) > LINES_PER_FILE and "/generated/" not in path:
            yield len(lines), f"longer than {LINES_PER_FILE} lines: one file, one concern"
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            heap = HEAP.search(line)
            if heap and path not in HEAP_FILES:
                yield number, f"{heap.group(1)}: memory comes from adzi_alloc (src/base/alloc.h)"
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if FRAME.search(line) and not path.startswith("src/base/"):
                yield number, "a frame: functions of the program are called through base/door.h"
            if match and match.group(1).startswith("cblas") and path not in BLAS_FILES:
                yield number, "only src/tensor/gemm/openblas.h includes cblas.h"
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if LAPACK.search(line):
                yield number, "a routine of LAPACK: its bits depend on the processor"
    if path.startswith("tests/") and path.endswith((".c", ".h")):
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            old = CMOCKA_DEPRECATED.search(line)
            if old:
                yield number, f"{old.group(1)} is deprecated in cmocka 2: write assert_true(...)"
    if path.endswith(".md"):
        for number, line in enumerate(lines, 1):
            for target in LINK.findall(line):
                if not os.path.exists(os.path.join(top, os.path.dirname(path), target)):
                    yield number, f"a link to {target}, which is not there"
    if not path.startswith("tests/checks/"):
        for number, line in enumerate(lines, 1):
            if UNFINISHED.search(line):
                yield number, "a word that means unfinished work: " + line.strip()
            if MACHINE_PATH.search(line):
                yield number, "a path of one machine: " + line.strip()


def check_calls(path, text):
    """An operator is called by its declaration (autograd/form.h), or its file says why not."""
    if not re.match(r"src/ops/.*\.c$", path) or WRITTEN_OUT in re.sub(r"[\s*]+", " ", text):
        return
    for match in ENTERED.finditer(text):
        yield (text.count("\n", 0, match.start()) + 1,
               'the steps of a call: use the form (autograd/form.h), or say why not, "The call is written out, because"')


def sources(top):
    """(path, text) of each C file of src, tests and bench."""
    for path in files(top):
        if path.endswith((".c", ".h", ".cc", ".in")) and path.startswith(("src/", "tests/", "bench/")):
            with open(os.path.join(top, path), encoding="utf-8") as stream:
                yield path, stream.read()


def folder_includes(top):
    """{folder of src: {another one that it includes: (path, header)}}, but for what TAKES allows."""
    found = {}
    for path, text in sources(top):
        for line in text.splitlines() if path.startswith("src/") else []:
            match = INCLUDE.match(line)
            target = match.group(1) if match and '"' in line else ""
            here, there = folder_of(path[4:]), folder_of(target)
            allowed = TAKES.get((here.split("/")[0], there.split("/")[0]), ("",))[0] == path
            if there and there != here and not allowed and os.path.exists(os.path.join(top, "src", target)):
                found.setdefault(here, {}).setdefault(there, (path, target))
    return found


def reached(includes, start):
    """The folders to which includes lead from a folder, through others or directly."""
    seen, waiting = set(), [start]
    while waiting:
        for folder in includes.get(waiting.pop(), {}):
            if folder not in seen:
                seen.add(folder)
                waiting.append(folder)
    return seen


def check_circles(top):
    """Includes between folders run one way, between a room and its own folders, too."""
    includes = folder_includes(top)
    reach = {folder: reached(includes, folder) for folder in includes}
    for here in sorted(includes):
        for there, (path, target) in sorted(includes[here].items()):
            if here in reach.get(there, set()):
                yield f"{path}: includes {target}, and the folder {there} includes {here} in turn: a circle"


PROTOTYPE = re.compile(r"^(?!static|typedef|#|return)[a-z][\w ]*[ *](adzi_\w+)\((?:[^;{}()]|\([^()]*\))*\)[^;{}()]*;", re.M)
PASTED = re.compile(r"\b(adzi_\w+?)\s*##")


def check_shared(top):
    """A function that one file defines and uses is static. Tests count as users."""
    declared, users, pasted = {}, {}, set()
    for path, text in sources(top):
        text = without_comments(text)
        if path.startswith("src/") and path.endswith(".h"):
            for match in PROTOTYPE.finditer(text):
                declared[match.group(1)] = (path, text.count("\n", 0, match.start(1)) + 1)
            text = PROTOTYPE.sub(lambda match: match.group(0).replace(match.group(1), "", 1), text)
        pasted.update(PASTED.findall(text))
        for name in set(re.findall(r"\badzi_\w+", text)):
            users.setdefault(name, set()).add(path)
    for name, (path, number) in sorted(declared.items(), key=lambda item: item[1]):
        if len(users.get(name, ())) == 1 and not any(name.startswith(part) for part in pasted):
            yield f"{path}:{number}: {name} is used in {min(users[name])} alone: make it static there"


def findings(top):
    for path in files(top):
        for number, message in check_file(top, path):
            yield f"{path}:{number}: {message}"
    yield from check_circles(top)
    yield from check_shared(top)
    yield from addresses.findings(top)


def main():
    found = list(findings(sys.argv[1]))
    print("\n".join(found) if found else "the tree keeps its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
