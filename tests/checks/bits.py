#!/usr/bin/env python3
"""Every operator, module, optimizer and scheduler is part of a row of the table of hashes (tests/bits/table.txt).

usage: bits.py SOURCE ADZE_BITS

The constructors of the public headers and the names of the operators' tests are the list. adze-bits --covered prints
the types that its rows train. A row "modules" trains every sample of tests/nn and tests/zoo, so a module whose type has
another name than its constructor is covered if a sample calls the constructor.
"""

import pathlib
import re
import subprocess
import sys

CONSTRUCTOR = re.compile(r"ADZ_API adz_(module|optimizer|scheduler) \*\s*adz_(\w+)_new\(")
PREFIXES = ("fastai", "labml", "gpt2", "darts", "notebook")
NOT_TRAINED = {
    "recurrent": "it runs cells that have rows of their own; test_loops compares its bits with steps written out",
    "module": "it makes modules of a program's own",
    "optimizer": "it makes optimizers of a program's own, and a row has one",
}


def names_of(constructor):
    """The names that the type of a constructor may have, in lower case and without underscores."""
    name = re.sub(r"lr$", "", constructor.replace("_", ""))
    names = {name, name + "lr"}
    return names | {n[len(p):] for n in names for p in PREFIXES if n.startswith(p)}


def constructors(headers):
    """(kind, name) of every constructor in the text of the headers."""
    return [pair for pair in CONSTRUCTOR.findall(headers) if pair[1] not in NOT_TRAINED]


def missing(wanted, covered, calls):
    """One sentence for each constructor that no row calls. `covered` is what adze-bits --covered prints."""
    types = {tuple(re.sub(r"[_.]", "", line.lower()).split()) for line in covered}
    for kind, name in wanted:
        if not any((kind, n) in types for n in names_of(name)) and f"adz_{name}_new(" not in calls:
            yield (f"adz_{name}_new is in no row of the table of hashes: train it in tests/bits, or give tests/nn or "
                   "tests/zoo a sample")


def main(source, program):
    top = pathlib.Path(source)
    headers = "\n".join(p.read_text(encoding="utf-8") for p in sorted(top.glob("include/adze/**/*.h")))
    calls = "\n".join(p.read_text(encoding="utf-8") for folder in ("nn", "zoo", "bits")
                      for p in sorted(top.glob(f"tests/{folder}/*.c")))
    run = subprocess.run([program, "--covered"], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wanted, covered = constructors(headers), run.stdout.splitlines()
    operators = {line.split()[1] for line in covered if line.startswith("operator ")}
    tested = {p.stem for p in top.glob("src/ops/*/*.c")} & {p.stem for p in top.glob("tests/ops/*/*.c")}
    found = list(missing(wanted, covered, calls))
    found += [f"the operator {name} is in no row of the table of hashes" for name in sorted(tested - operators)]
    print("\n".join(found) or f"{len(operators)} operators and {len(wanted)} constructors have rows")
    return 1 if found or len(operators) < 100 or len(wanted) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
