#!/usr/bin/env python3
"""Links between the rooms of src/ run one way, as their includes do (tree.py).

usage: links.py [--names] ARCHIVE...

Reads the symbols of the library's objects from static archives. An object may use what its own room
or a room below defines. ROOMS of tree.py says which rooms are below, and ORDER which files of a room are.

Names that other objects see begin with adz_ or adzi_: a program that is linked with the archive may have
any other name. Only the object of adz_die calls exit. With
--names nothing else is looked at.
"""

import re
import subprocess
import sys

from tree import OF_EXPORT, ORDER, ROOMS, TAKES, UPWARD, position

MEMBER = re.compile(r"(?:.*[/(])?([^/():]+)\.o\)?:$")


def room_of(member):
    """The room of an object, which meson names after its path: tensor_random_generator.c.o."""
    name = re.sub(r"^meson-generated_(\.\._)*", "", member)
    room = "export" if OF_EXPORT.match(name.replace("ops_", "ops/", 1)) else name.split("_")[0]
    if room not in ROOMS:
        raise ValueError(f"{member}.o belongs to no room that tests/checks/tree.py knows")
    return room


def file_of(room, member):
    """The file of an object within its room: base_threads_thread.c is threads/thread.c."""
    parts = re.sub(r"^meson-generated_(\.\._)*", "", member)[len(room) + 1:].split("_")
    names = ["/".join(parts[:k] + ["_".join(parts[k:])]) for k in range(len(parts))]
    return next((name for name in names if position(room, name) is not None), None)


def is_above(room, other, member):
    """Whether a file of the room lies above another one."""
    here, there = file_of(room, member), file_of(room, other)
    if here is None or there is None:
        raise ValueError(f"{member if here is None else other}.o has no position in ORDER of tests/checks/tree.py")
    return position(room, there) > position(room, here)


def read(lines):
    """Yields (object, type, symbol) from what nm prints."""
    member = None
    for line in lines:
        heading = MEMBER.match(line)
        fields = line.split()
        if heading:
            member = heading.group(1)
        elif len(fields) >= 2 and not line.endswith(":"):
            yield member, fields[-2], fields[-1]


def findings(symbols):
    """The uses of a symbol whose definition stands in a room above."""
    symbols = list(symbols)
    defined = {symbol: member for member, kind, symbol in symbols if kind in "TDBRWVC"}
    for member, kind, symbol in symbols:
        if kind != "U" or symbol not in defined:
            continue
        room, other = room_of(member), room_of(defined[symbol])
        if other != room and other not in ROOMS[room] and symbol not in TAKES.get((room, other), ("", set()))[1]:
            yield f"{member} of the room {room} uses {symbol}, which {defined[symbol]} of {other} defines"
        elif other == room and room in ORDER and symbol not in UPWARD and is_above(room, defined[symbol], member):
            yield f"{member} uses {symbol}, which {defined[symbol]} above it in the room {room} defines"


def names(symbols):
    """The names of the archive that a program may have, too, and calls that end the process."""
    for member, kind, symbol in symbols:
        if kind in "TDBRC" and not re.match(r"adzi?_", symbol):
            yield f"{member} defines {symbol}, a name that neither begins with adz_ nor with adzi_"
        elif kind == "U" and symbol in ("exit", "_exit") and (member, symbol) != ("base_errors_die.c", "exit"):
            yield f"{member} calls {symbol}, which only adz_die in base_errors_die.c may do"


def main():
    lines = []
    names_only = sys.argv[1] == "--names"
    for archive in sys.argv[2 if names_only else 1:]:
        lines += subprocess.run(["nm", archive], check=True, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.splitlines()
    symbols = list(read(lines))
    if names_only:
        found = sorted(set(names(symbols)))
        print("\n".join(found) if found else f"{len(symbols)} symbols have the library's prefix, or are hidden")
        return 1 if found or len(symbols) < 1000 else 0
    rooms = {room_of(member) for member, _, _ in symbols}
    if rooms != set(ROOMS):
        sys.exit(f"no objects of {', '.join(sorted(set(ROOMS) - rooms))}: nothing was checked")
    found = sorted(set(findings(symbols)) | set(names(symbols)))
    print("\n".join(found) if found else f"{len(symbols)} symbols link one way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
