#!/usr/bin/env python3
"""Applies the new names of adze's interface to a program.

    rename.py [--table TABLE] FILES...

The files are changed: programs in C, C++ or Fortran, build files and pages. A name is replaced where it stands as a
whole identifier, also in texts and comments. tools/renames.txt has the names. A second run changes nothing.

What names cannot tell is reported with file and line: calls of functions whose arguments have changed.
"""
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent / 'renames.txt'


def read_table(path):
    """({old name: new name}, {name: what has changed in a call of it})"""
    names, calls = {}, {}
    for line in path.read_text(encoding='utf-8').splitlines():
        name, _, text = line.partition(' ')
        if not line.strip() or line.startswith('#'):
            continue
        if name.endswith(':'):
            calls[name[:-1]] = text.strip()
        else:
            names[name] = text.strip()
    return names, calls


def pattern(names):
    """Any of the names as a whole identifier. Fortran's interfaces to C begin with raw_."""
    return re.compile(r'(?<![A-Za-z0-9_])(raw_)?(' + '|'.join(map(re.escape, names)) + r')(?![A-Za-z0-9_])')


def reports(text, calls):
    """(line, name) of each call of a function whose arguments have changed."""
    if not calls:
        return []
    found = re.finditer(pattern(calls).pattern + r'\s*\(', text)
    return [(text.count('\n', 0, m.start()) + 1, m.group(2)) for m in found]


def main():
    arguments = sys.argv[1:]
    table = TABLE
    if arguments[:1] == ['--table']:
        table, arguments = pathlib.Path(arguments[1]), arguments[2:]
    if not arguments or arguments[0].startswith('-'):
        sys.exit(__doc__)
    names, calls = read_table(table)
    one_of = pattern(names)
    for path in map(pathlib.Path, arguments):
        with open(path, encoding='utf-8', errors='surrogateescape', newline='') as file:
            before = file.read()
        after = one_of.sub(lambda m: (m.group(1) or '') + names[m.group(2)], before)
        if after != before:
            with open(path, 'w', encoding='utf-8', errors='surrogateescape', newline='') as file:
                file.write(after)
        for line, name in reports(after, calls):
            print(f'{path}:{line}: the arguments have changed: {calls[name]}')


if __name__ == '__main__':
    main()
