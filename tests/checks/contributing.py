#!/usr/bin/env python3
"""Applies the worked examples of CONTRIBUTING.md to a copy of the tree, builds it and runs their tests.

    contributing.py TOP WORK_DIR [MESON_OPTION...]

The examples are the patches in docs/examples. Each must apply to the tree on its own. All of them together
are then built in WORK_DIR/build, and the tests that the patches name in their lines "Tests:" must pass.
WORK_DIR is made again. Without a MESON_OPTION the build is one without optimisation.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

KINDS = ["activation", "function", "loss", "module", "operator", "optimizer"]
OPTIONS = ["-Dbuildtype=plain", "-Doptimization=0"]
ALWAYS = ["-Dwerror=true", "-Dbench=false", "-Dexamples=false", "-Dkernels=native", "-Dmpi=disabled"]


def run(*command, cwd):
    """Ends the check with the command's output if the command fails."""
    done = subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": str(cwd.parent)}, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}")
    return done.stdout


def copy_tree(top, tree):
    """The files of the tree that git knows or would add."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=top)
    for name in filter(None, listed.split("\0")):
        source, target = top / name, tree / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def tests_of(patch):
    line = re.search(r"^Tests: (.+)$", patch.read_text(encoding="utf-8"), flags=re.M)
    if line is None:
        sys.exit(f"{patch.name} has no line that begins with Tests:")
    return line.group(1).split()


def words_of(text):
    """From the attributes to the end of the declaration, without the name that the operator has there."""
    words = text[text.index("typedef struct {"):text.rindex("\n};")]
    return re.sub(r"^(static )?const adz_operator \w+ =", "const adz_operator =", words, flags=re.M)


def check_same_words(top):
    """A program declares isru by the same words as the library's operator of the worked example."""
    patch = (top / "docs/examples/operator.patch").read_text(encoding="utf-8")
    added = patch[patch.index("+++ b/src/ops/activation/isru.c"):]
    added = added[:added.index("diff --git")]
    library = "\n".join(line[1:] for line in added.split("\n") if line.startswith("+") and not line.startswith("+++"))
    program = (top / "tests/autograd/operator_call/isru.h").read_text(encoding="utf-8")
    if words_of(library) != words_of(program):
        sys.exit("docs/examples/operator.patch and tests/autograd/operator_call/isru.h differ")


def main():
    top, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    patches = sorted((top / "docs/examples").glob("*.patch"))
    if [patch.stem for patch in patches] != KINDS:
        sys.exit(f"docs/examples has {[patch.stem for patch in patches]} instead of {KINDS}")
    check_same_words(top)
    shutil.rmtree(work, ignore_errors=True)
    tree, build = work / "tree", work / "build"
    copy_tree(top, tree)
    for patch in patches:
        run("git", "apply", "--check", str(patch), cwd=tree)
    for patch in patches:
        run("git", "apply", str(patch), cwd=tree)
    tests = [test for patch in patches for test in tests_of(patch)]
    run("meson", "setup", str(build), *ALWAYS, *(sys.argv[3:] or OPTIONS), cwd=tree)
    run("ninja", "tests/ops/adze-operators", cwd=build)
    run(sys.executable, "tests/checks/operators.py", str(build / "tests/ops/adze-operators"), ".", "--write",
        cwd=tree)
    run("meson", "test", "--print-errorlogs", "--timeout-multiplier", "4", *tests, cwd=build)
    with open(build / "meson-logs/testlog.json", encoding="utf-8") as log:
        passed = {entry["name"].split(" / ")[-1] for entry in map(json.loads, log) if entry["result"] == "OK"}
    missing = [test for test in tests if test not in passed]
    if missing:
        sys.exit(f"these tests did not pass: {missing}")
    print(f"{len(patches)} patches apply, {len(tests)} tests pass: {' '.join(tests)}")


main()
