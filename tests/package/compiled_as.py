#!/usr/bin/env python3
"""Checks how adze is compiled as a subproject, read from compile_commands.json.

    compiled_as.py release|debug compile_commands.json

release: all of the library with -O2 or -O3, x86's baseline kernels with -Os (src/meson.build), without asserts.
debug: nothing is optimised, and the asserts stay.
"""
import json
import sys


def problem(command, release):
    words = command["command"].split()
    level = ([w for w in words if w.startswith("-O")] or ["-O0"])[-1]
    asserts = "-DNDEBUG" not in words
    if not release:
        return "" if level == "-O0" and asserts else f"{level}, asserts {asserts}"
    in_haste = "-DADZI_X86" in words and "-DADZI_ISA=baseline" in words
    fast = level == "-Os" if in_haste else level in ("-O2", "-O3")
    return "" if fast and not asserts else f"{level}, asserts {asserts}"


wanted, commands = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
library = [c for c in commands if "subprojects/adze/" in c["file"]]
kernels = [c for c in library if c["file"].endswith(".kernel.c")]
if len(kernels) < 40 or len(library) < len(kernels) + 100:
    sys.exit(f"{len(library)} files of adze, {len(kernels)} kernels: that cannot be all")
wrong = [(c["file"], said) for c in library
         if (said := problem(c, wanted == "release"))]
for file, said in wrong[:5]:
    print(f"{file}: compiled with {said}; wanted: as {wanted}")
sys.exit(f"{len(wrong)} of {len(library)} files are compiled otherwise" if wrong else 0)
