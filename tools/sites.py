#!/usr/bin/env python3
"""Writes adze/sites.h. Under ADZ_SITES, each call that returns a tensor remembers its source line.

usage: sites.py OUTPUT INCLUDE_FOLDER
"""
import pathlib
import sys

from headers import Headers

# Accessors return what exists, and adz_sited itself does the work.
SKIPPED = {"adz_none", "adz_keep", "adz_sited", "adz_tensor_grad", "adz_scope_return"}
# adze/typed.h has a macro of this name, too.
CHECKED = "adz_tensor_from"


def main():
    output, folder = sys.argv[1:]
    functions = Headers(pathlib.Path(folder)).functions
    names = {name for result, name, _ in functions if result == "adz_tensor *"}
    names = sorted(n for n in names - SKIPPED if not n.startswith("adz_node_"))
    lines = [
        "/**",
        " * @file sites.h",
        " * Included by adze.h under ADZ_SITES: errors and anomaly mode name the caller's file and line.",
        " * Generated from the other headers.",
        " */",
        "#ifndef ADZE_SITES_H",
        "#define ADZE_SITES_H",
        "",
        '#include "adze/autograd.h"',
        '#include "adze/typed.h"',
        "",
        "/** @cond each macro is the function of the same name */",
    ]
    for n in names:
        if n == CHECKED:
            lines += [f"#ifdef {n}", f"#undef {n}",
                      f"#define {n}(...) adz_sited(ADZ_FROM_(__VA_ARGS__), __FILE__, __LINE__)", "#else"]
        lines += [f"#define {n}(...) adz_sited(({n})(__VA_ARGS__), __FILE__, __LINE__)"]
        lines += ["#endif"] if n == CHECKED else []
    lines += ["/** @endcond */", "", "#endif", ""]
    text = "\n".join(lines)
    path = pathlib.Path(output)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
