#!/usr/bin/env python3
"""Writes src/data/generated/unicode_tables.h and src/zoo/generated/html_names.h from Python's own data.

usage: unicode.py SOURCE_ROOT
"""

import html.entities
import os
import sys
import unicodedata

POINTS = range(0x80, 0x110000)


def grow(runs, point, *tail):
    """Appends a point to the last run where it continues it, in steps of 1 or 2."""
    if runs:
        first, last, step, *old = runs[-1]
        if tuple(old) == tail and point - last in (1, 2) and step in (0, point - last):
            runs[-1] = (first, point, point - last, *tail)
            return
    runs.append((point, point, 0, *tail))


def members(belongs):
    runs = []
    for point in POINTS:
        if belongs(chr(point)):
            grow(runs, point)
    return [(first, last, step or 1) for first, last, step in runs]


def lowered():
    runs = []
    for point in POINTS:
        lower = chr(point).lower()
        if lower == chr(point):
            continue
        if len(lower) == 1:
            grow(runs, point, ord(lower) - point)
    return [(first, last, step or 1, delta) for first, last, step, delta in runs]


def table(kind, name, rows):
    text = f"static const {kind} {name}[] = {{\n"
    line = "   "
    for row in rows:
        entry = " { " + ", ".join(str(n) for n in row) + " },"
        if len(line) + len(entry) > 100:
            text += line + "\n"
            line = "   "
        line += entry
    return text + line + "\n};\n"


def unicode_tables():
    text = (f"/* Written by tools/unicode.py: Unicode {unicodedata.unidata_version}, from 128 on, "
            "as first, last and step. */\n/* clang-format off */\n")
    for name, belongs in (("alphanumerics", str.isalnum),
                          ("marks", lambda c: unicodedata.category(c)[0] == "M"),
                          ("uppers", str.isupper), ("lowers", str.islower)):
        text += table("point_run", name, members(belongs))
    return text + table("case_run", "lowered", lowered())


def html_names():
    rows = []
    names = dict(html.entities.name2codepoint, apos=39)
    for name in sorted(names):
        rows.append((f'"{name}"', names[name], int(name in html.entities.html5)))
    return ("/* Written by tools/unicode.py: HTML 4's names, sorted; 1 where the semicolon may be "
            "missing. */\n/* clang-format off */\n" + table("html_name", "html_names", rows))


def main():
    for room, name, text in (("data", "unicode_tables.h", unicode_tables()), ("zoo", "html_names.h", html_names())):
        with open(os.path.join(sys.argv[1], "src", room, "generated", name), "w", encoding="ascii") as stream:
            stream.write(text)


if __name__ == "__main__":
    main()
