#!/usr/bin/env python3
"""The example programs leave no files in a checkout that git shows as new.

usage: clean_checkout.py TOP PROGRAM...

Each program runs as a user would try it, with its own names for what it writes, in a repository that has
this tree's .gitignore."""

import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SHORT = {
    "ffn-regression": ["--epochs", "2"],
    "uci-regression": ["--epochs", "1", "--splits", "1", "--passes", "2"],
    "glu-variants": ["--steps", "2", "--batch", "2", "--length", "16", "--d-model", "16", "--d-ff", "16",
                     "--layers", "1", "--heads", "2", "--evaluations", "1"],
    "char-lm": ["--steps", "2", "--layers", "1", "--batch-size", "2", "--d-model", "16", "--heads", "2",
                "--context", "20"],
    "text-classifier": ["--arch", "transformer", "--examples", "40", "--epochs", "1", "--layers", "1",
                        "--width", "16", "--hidden", "16", "--heads", "2"],
    "digits": ["--examples", "40", "--epochs", "1", "--channels", "4"],
    "forecast": ["--model", "mlp", "--epochs", "1", "--members", "1"],
}


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout


def main():
    top, *programs = sys.argv[1:]
    if shutil.which("git") is None:
        print("no git")
        return SKIPPED
    programs = {os.path.basename(program): os.path.abspath(program) for program in programs}
    assert set(programs) == set(SHORT), f"{set(programs) ^ set(SHORT)}: one list lacks it"
    wrapper = os.environ.get("ADZE_WRAPPER", "").split()
    wrong = 0
    ignore = os.path.join(os.path.abspath(top), ".gitignore")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        git("init", "--quiet")
        shutil.copy(ignore, ".gitignore")
        git("add", ".gitignore")
        os.mkdir("examples")
        for name, program in programs.items():
            for folder in ".", "examples":
                before = {entry.name for entry in os.scandir(folder)}
                done = subprocess.run([*wrapper, program, *SHORT[name]], cwd=folder, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                assert done.returncode == 0, f"{name}: exit {done.returncode}\n{done.stdout}"
                written = sorted({entry.name for entry in os.scandir(folder)} - before)
                print(f"{name} in {folder}: {' '.join(written) or 'nothing'}")
        for line in git("status", "--porcelain", "--untracked-files=all").splitlines():
            if line.startswith("??"):
                print(f"git shows as new: {line[3:]}")
                wrong += 1
        os.chdir("/")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
