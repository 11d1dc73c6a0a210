#!/usr/bin/env python3
"""Writes the README's subproject as it stands there, beneath a project() with Meson's defaults, and
the README's program beside it.

    readme_snippet.py README.md FOLDER
"""
import pathlib
import re
import sys

readme, folder = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])


def block(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)
    if len(found) != 1:
        sys.exit(f"the README has {len(found)} blocks of {language} instead of one")
    return found[0]


folder.joinpath("meson.build").write_text("project('program', 'c')\n" + block("meson"))
folder.joinpath("program.c").write_text(block("c"))
