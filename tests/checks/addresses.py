"""Every struct of arguments names all its pointers to data (src/base/threads/addresses.h).

A plan moves and watches the addresses that a line ADZI_ADDRESSES names, and no others. This check reads the structs:
their pointers, arrays of pointers, and the same in members that are structs. Pointers to functions are left out.
"""

import os
import re

STRUCT = re.compile(r"typedef struct(?: \w+)? \{\n(.*?)\n\}(?: \*)? ?(\w+);", re.S)
LINE = re.compile(r"^ADZI_(NO_ADDRESSES|ADDRESSES|ADDRESS_TABLE)\((\w+)(.*?)\);\n", re.S | re.M)
NAMES = re.compile(r"#define (ADZI_\w+_ADDRESSES|\w+_ADDRESSES)\(at\) ((?:.*\\\n)*.*)")
EACH = re.compile(r"ADZI_ADDRESS_OF_EACH(?:_READ)?\(\w+, (\w+), (\w+)\)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def read(top):
    """{path: text without comments} of all sources and headers."""
    texts = {}
    for room in ("src", "include"):
        for folder, _, names in os.walk(os.path.join(top, room)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as stream:
                        text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), stream.read())
                    texts[os.path.relpath(path, top)] = text
    return texts


def pointers(body, find, depth=0):
    """The pointers to data in the body of a struct: x, x.y of a member, x[].y of an array of structs."""
    for declaration in re.sub(r"_Atomic\((\w+)\)", r"\1", body).split(";"):
        if "(" in declaration or not declaration.strip():
            continue # a pointer to a function
        first = re.match(r"\s*(?:const |struct |_Alignas *)*(\w+)", declaration)
        base = first.group(1)
        for one in declaration[first.end():].split(","):
            name = re.search(r"(\w+)\s*((?:\[[^\]]*\])*)\s*$", one)
            if not name:
                continue
            if "*" in one:
                yield name.group(1)
            elif (inner := find(base)) and depth < 4:
                each = "[]" if name.group(2) else ""
                for pointer in pointers(inner, find, depth + 1):
                    yield f"{name.group(1)}{each}.{pointer}"


def named(kind, text, macros):
    """The names in an ADZI_ADDRESSES line, with those of macros such as ADZI_GEMM_ADDRESSES."""
    if kind == "ADDRESS_TABLE":
        return [f"{array}[].{pointer}" for array, pointer in EACH.findall(text)]
    names = []
    for one in re.split(r",\s*", text.strip(", \n")):
        call = re.fullmatch(r"(\w+_ADDRESSES)\(([\w.]*)\)", one)
        if call:
            names += [call.group(2) + name for name in re.findall(r"\bat ([\w.]+)", macros.get(call.group(1), ""))]
        elif one:
            names.append(one)
    return names


def findings(top):
    texts = read(top)
    structs = {path: {name: body for body, name in STRUCT.findall(text)} for path, text in texts.items()}
    headers = {name: body for path, found in structs.items() if path.endswith(".h") for name, body in found.items()}
    macros = {name: body for text in texts.values() for name, body in NAMES.findall(text)}
    for path, text in sorted(texts.items()):
        for match in LINE.finditer(text):
            kind, struct, names = match.groups()
            known = {**headers, **structs[path]}
            line = text.count("\n", 0, match.start()) + 1
            if struct not in structs[path]:
                yield f"{path}:{line}: {struct} is not in this file, so the line does not stand beside it"
                continue
            has, says = list(pointers(known[struct], known.get)), named(kind, names, macros)
            missing, odd = sorted(set(has) - set(says)), sorted(set(says) - set(has))
            if missing:
                yield f"{path}:{line}: {struct} has pointers that the line does not name: {', '.join(missing)}"
            elif odd:
                yield f"{path}:{line}: {struct} has no such pointers: {', '.join(odd)}"
