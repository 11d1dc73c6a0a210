#!/usr/bin/env python3
"""Writes the subproject of docs/install.md as it stands there, beneath a project() with Meson's
defaults, and the README's program beside it.

    readme_snippet.py TOP FOLDER
"""
import pathlib
import re
import sys

top, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def block(page, language):
    text = (top / page).read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    if len(found) != 1:
        sys.exit(f"{page} has {len(found)} blocks of {language} instead of one")
    return found[0]


folder.joinpath("meson.build").write_text("project('program', 'c')\n" + block("docs/install.md", "meson"))
folder.joinpath("program.c").write_text(block("README.md", "c"))
