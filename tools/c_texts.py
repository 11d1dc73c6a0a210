#!/usr/bin/env python3
"""Makes texts for the C writer of C sources.

usage: c_texts.py OUTPUT SOURCE...

OUTPUT becomes the array `texts` in C with a row for each function and each array of the sources, in their order: its name and its
text, with the comment before it. The sources are C99 that is compiled and tested as it is. In them the names begin with
net_; in a text @name stands for net_name, because files in C have prefixes of their own. What stands between two
functions, such as an enum, belongs to the one behind it. The head of a source is left out: what stands
up to its includes or, if it has none, up to its first empty line.
"""

import re
import sys

PREFIX = "net_"
NAME = re.compile(rf"^(?![ /*#{{}}]).*?\b{PREFIX}(\w+)[(\[]", re.M)
MACRO = re.compile(rf"^#define {PREFIX}(\w+)", re.M)
QUOTED = re.compile(r"""'(?:\\.|[^'\\])'|"(?:\\.|[^"\\\n])*["]""")


def texts(source):
    """The name and the text of each function, each array, and each macro between #if and #endif."""
    lines = source.splitlines()
    first = max((i + 1 for i, line in enumerate(lines) if line.startswith("#include")), default=lines.index("") + 1)
    part = []
    for line in lines[first:]:
        part.append(line)
        names = (MACRO if line == "#endif" else NAME).findall("\n".join(part))
        code = QUOTED.sub("", "\n".join(part))  # a brace in quotes opens and closes nothing
        whole = code.count("{") == code.count("}")
        if names and whole and line.endswith(("}", "};", "#endif")):
            yield names[-1], "\n".join(part).strip("\n") + "\n"
            part = []
    if "".join(part).strip():
        sys.exit(f"c_texts.py: the end of a source is no function:\n{' '.join(part)}")


def main():
    output, sources = sys.argv[1], sys.argv[2:]
    rows, known, called = [], set(), set()
    for path in sources:
        with open(path, encoding="utf-8") as file:
            found = list(texts(file.read()))
        if not found:
            sys.exit(f"c_texts.py: {path} has no function")
        for name, text in found:
            text = re.sub(rf"\b{PREFIX}(?=\w)", "@", text).replace("\\", "\\\\").replace('"', '\\"')
            quoted = "\n".join(f'      "{line}\\n"' for line in text.splitlines())
            rows.append(f'    {{ "{name}",\n{quoted} }},\n')
            known.add(name)
            called.update(re.findall(r"@(\w+)\(", text))
    if called - known:
        sys.exit(f"c_texts.py: no source has {', '.join(sorted(called - known))}")
    with open(output, "w", encoding="utf-8") as file:
        file.write("/* Made by tools/c_texts.py. */\n\n"
                   "/* A function: its name, and its text, in which @name is another function. */\n"
                   "typedef struct {\n    const char *name, *text;\n} c_text;\n\n"
                   f"static const c_text texts[] = {{\n{''.join(rows)}}};\n")


if __name__ == "__main__":
    main()
