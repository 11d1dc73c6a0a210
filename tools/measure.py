#!/usr/bin/env python3
"""Prints how large and how legible the tree is: lines by room, and figures with their targets.

usage: measure.py [--list] [TOP]

Exits 1 when a figure misses its target. --list names the files, functions or folders behind each miss, and
the operators with three formulas.

An operator has three formulas if it registers a backward, a fused backward and an expression. The backward
could be derived from the expression then, so its file says why it is not, in a comment that begins with
"Third formula:".
"""

import os
import re
import sys

TARGETS = {
    "longest file, lines": 500,
    "longest function, lines": 50,
    "most files in one folder of src": 40,
    "comment lines per code line in src/ops": 0.2,
    "operators with three formulas": 12,
    "files touched to add a function": 3,  # an elementwise operator, with its export to C and ONNX
    "files touched to add a loss": 3,  # one that compares element by element
    "files touched to add an operator": 4,  # with a kernel, a backward and a text for C
    "files touched to add a module": 4,
    "files touched to add an optimizer": 4,
    "files touched to add an activation": 2,
}

FORMULAS = ("backward", "fused", "expression")
# Those of an entry of a table (src/ops/elementwise/columns.h, src/ops/loss/table.h).
COLUMNS = ("GRADIENTS?\\(|SLOPE\\(|FUNCTION2?_EXPRESSED", "GRADIENT_KERNEL|KERNELS\\(", "EXPRESSION")

# The worked examples of CONTRIBUTING.md, which tests/checks/contributing.py applies and tests.
EXAMPLES = "docs/examples"

TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


class File:
    """One C file: its text, and for each line whether it holds code and whether it holds a comment."""

    def __init__(self, top, path):
        self.path = path
        with open(os.path.join(top, path), encoding="utf-8") as stream:
            self.text = stream.read()
        self.lines = self.text.count("\n")
        bare = TOKENS.sub(self._blank, self.text)
        self.bare = bare
        self.code = sum(bool(line.strip()) for line in bare.split("\n"))
        self.comments = sum(bool(re.search(r"\w", line))
                            for match in TOKENS.finditer(self.text) if match.group(0)[0] == "/"
                            for line in match.group(0).split("\n"))

    @staticmethod
    def _blank(match):
        """A comment becomes white space; a string keeps its quotes only."""
        found = match.group(0)
        if found.startswith(("/*", "//")):
            return re.sub(r"[^\n]", " ", found)
        return found[0] + "s" * (len(found) - 2) + found[-1]

    def functions(self):
        """Yields (name, first line, number of lines) of each function's definition."""
        depth = 0
        head = []
        start = 0
        name = None
        in_macro = False
        for number, line in enumerate(self.bare.split("\n"), 1):
            if in_macro or line.lstrip().startswith("#"):
                in_macro = line.rstrip().endswith("\\")
                continue
            for position, char in enumerate(line):
                if char == "{":
                    if depth == 0:
                        name = function_name("".join(head))
                        start = head_line(head, number)
                        head = []
                    depth += 1
                elif char == "}":
                    depth = max(0, depth - 1)
                    if depth == 0:
                        if name:
                            yield name, start, number - start + 1
                        name, head = None, []
                elif depth == 0:
                    if char == ";":
                        head = []
                    else:
                        head.append(char)
            if depth == 0:
                head = head + ["\n"] if line.strip() else []  # no head has a blank line in it


    def parameters(self):
        """Yields (name, number of parameters) of each function's definition."""
        code = re.sub(r"^#(?:.*\\\n)*.*", "", self.bare, flags=re.M)  # no macros
        for head in re.finditer(r"^(?!typedef)[\w *]*?\b(\w+)(\(\w+\))?\(([^;{}=]*)\)\s*\n\{", code, re.M):
            if head.group(2) or not head.group(1).isupper():  # KERNEL(name)(...), but no entry of a table
                inner = re.sub(r"\([^()]*\)", "", head.group(3))
                yield head.group(2) or head.group(1), inner.count(",") + 1


def head_line(head, number):
    """The line on which a definition's head begins, given the characters before its brace."""
    text = "".join(head)
    return number - text.lstrip("\n ").count("\n")


def function_name(head):
    """The name of the function that a head defines, or None for a struct, an array or extern "C"."""
    head = head.strip()
    if not head.endswith(")") or "=" in head:
        return None
    match = re.search(r"(\w+)\s*\(", head)
    return match.group(1) if match else None


def c_files(top, *rooms):
    for room in rooms:
        for folder, folders, names in os.walk(os.path.join(top, room)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h", ".cpp")):
                    yield File(top, os.path.relpath(os.path.join(folder, name), top))


def folder_sizes(top):
    for folder, _, names in os.walk(os.path.join(top, "src")):
        yield len(names), os.path.relpath(folder, top)


def files_of_patch(path):
    """The files that a patch changes or adds."""
    with open(path, encoding="utf-8") as stream:
        return re.findall(r"^diff --git a/(\S+) ", stream.read(), flags=re.M)


def entries(file):
    """Yields (name, text) of each entry of a table: its comment and its columns."""
    name, lines = None, []
    for line in file.text[file.text.index("/* clang-format off"):].split("\n")[1:]:
        column = re.match(r"[A-Z0-9_]+\((\w+)", line)
        if name and (line.startswith("/*") or (column and column.group(1) != name)):
            yield name, "\n".join(lines)
            name, lines = None, []
        name = name or (column and column.group(1))
        lines.append(line)


def third_formulas(ops):
    """Yields (operator, reason) of each operator that states its mathematics three times. The reason is None
    where the file gives none."""
    for file in ops:
        for name, entry in entries(file) if os.path.basename(file.path) == "table.h" else []:
            if all(re.search(rf"^{column}", entry, re.M) for column in COLUMNS):
                said = re.search(r"Third formula: (.*?)\. \*/", re.sub(r"\n \* ", " ", entry))
                yield name, said.group(1) if said else None
        for match in re.finditer(r"adzi_op (adzi_op_\w+) = \{.*?\};", file.bare, re.S):
            if all(re.search(rf"\.{formula} = (?!adzi_derived)", match.group(0)) for formula in FORMULAS):
                said = re.search(r"/\* Third formula: (.*?)\. \*/", file.text)
                yield match.group(1).removeprefix("adzi_op_"), said.group(1) if said else None


def print_rooms(library):
    """Prints the lines of code of each room, the largest first, and those of what lies within the largest ones."""
    rooms = {}
    for f in library:
        parts = os.path.dirname(f.path).split(os.sep)
        for depth in range(2, min(len(parts), 3) + 1) if parts[0] == "src" else [1]:
            room = "/".join(parts[:depth])
            rooms[room] = rooms.get(room, 0) + f.code
    print(f"       lines of code in src and include: {sum(f.code for f in library)}")
    for room in sorted((r for r in rooms if r.count("/") < 2), key=rooms.get, reverse=True):
        within = sorted((r for r in rooms if r.startswith(room + "/")), key=rooms.get, reverse=True)[:8]
        inner = ", ".join(f"{r.removeprefix(room + '/')} {rooms[r]}" for r in within if rooms[r] >= 500)
        print(f"{rooms[room]:13d} {room}{' (' + inner + ')' if inner and room.startswith('src/') else ''}")


def report(label, value, ok, names, listed):
    target = TARGETS[label]
    shown = f"{value:.2f}" if isinstance(value, float) else str(value)
    print(f"{'ok    ' if ok else 'MISSED'} {label}: {shown} (target {target})")
    if listed and not ok:
        for name in names:
            print("         " + name)
    return ok


def measure(top, listed):
    library = list(c_files(top, "src", "include"))
    others = list(c_files(top, "tests", "examples", "programs", "bench"))
    everything = library + others
    results = []

    print_rooms(library)
    many = [f"{count} {name}" for f in library if f.path.startswith("src/") for name, count in f.parameters() if count > 5]
    print(f"       functions with more than five parameters: {len(many)}")
    for name in sorted(many, reverse=True) if listed else []:
        print("         " + name)

    label = "longest file, lines"
    written = [f for f in everything if "/generated/" not in f.path]
    long_files = sorted((-f.lines, f.path) for f in written if f.lines > TARGETS[label])
    worst = max(f.lines for f in written)
    results.append(report(label, worst, not long_files, [f"{-n} {p}" for n, p in long_files], listed))

    label = "longest function, lines"
    functions = [(n, f"{f.path}:{line}: {name}") for f in everything for name, line, n in f.functions()]
    long_functions = sorted((-n, name) for n, name in functions if n > TARGETS[label])
    worst = max(n for n, _ in functions)
    results.append(report(label, worst, not long_functions, [f"{-n} {p}" for n, p in long_functions], listed))

    label = "most files in one folder of src"
    folders = sorted(((n, p) for n, p in folder_sizes(top)), reverse=True)
    results.append(report(label, folders[0][0], folders[0][0] <= TARGETS[label],
                          [f"{n} {p}" for n, p in folders if n > TARGETS[label]], listed))

    label = "comment lines per code line in src/ops"
    # Rows and printers lie beside the operators, but belong to the exports (docs/design.md).
    exports = (".rows.c", ".c99.c", ".onnx.c")
    ops = [f for f in library if f.path.startswith("src/ops/") and not f.path.endswith(exports)]
    ratio = sum(f.comments for f in ops) / sum(f.code for f in ops)
    names = [f"{f.comments / max(1, f.code):.2f} {f.path}" for f in ops if f.comments < 0.1 * f.code]
    results.append(report(label, ratio, ratio >= TARGETS[label], names, listed))

    label = "operators with three formulas"
    three = list(third_formulas(ops))
    ok = len(three) <= TARGETS[label] and all(reason for _, reason in three)
    results.append(report(label, len(three), ok, [], listed))
    for name, reason in three if listed or not ok else []:
        print(f"         {name}: {reason or 'gives no reason'}")

    for kind in ("function", "loss", "operator", "module", "optimizer", "activation"):
        label = f"files touched to add a{'n' if kind[0] in 'ao' else ''} {kind}"
        touched = files_of_patch(os.path.join(top, EXAMPLES, kind + ".patch"))
        results.append(report(label, len(touched), 0 < len(touched) <= TARGETS[label], touched, listed))
    return all(results)


def main():
    words = sys.argv[1:]
    if "--help" in words or "-h" in words:
        print(__doc__)
        return 0
    unknown = [word for word in words if word.startswith("-") and word != "--list"]
    folders = [word for word in words if not word.startswith("-")]
    if unknown or len(folders) > 1 or not all(map(os.path.isdir, folders)):
        print(f"measure.py: {' '.join(unknown or folders)} is no option or folder; --help says what there is",
              file=sys.stderr)
        return 2
    top = folders[0] if folders else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return 0 if measure(top, "--list" in words) else 1


if __name__ == "__main__":
    sys.exit(main())
