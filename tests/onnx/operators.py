#!/usr/bin/env python3
"""The table of the operators that are read from ONNX files, in docs/onnx.md, made of the table in the code.

usage: operators.py PROGRAM PAGE [--write]

PROGRAM is tests/onnx/adze-onnx-operators of the build. Without --write the page is only compared.
"""

import subprocess
import sys

BEGIN, END = '<!-- operators that are read -->\n', '<!-- end of the operators -->\n'


def attribute(text):
    name, kind = text.split(':')
    if '=' in kind:
        return f'`{name}` ({kind.split("=")[1].replace("|", ", ")})'
    return f'`{name}`'


def table(program):
    rows = {}
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        name, since, until, _, _, fixed, attributes = line.split('\t')
        rows.setdefault(name, []).append((int(since), int(until), int(fixed), attributes.split()))
    text = ['| operator | opsets | gradient | attributes |', '| --- | --- | --- | --- |']
    for name, versions in sorted(rows.items()):
        versions.sort()
        last = versions[-1][1]
        known = {}
        for _, _, _, attributes in versions:
            known.update({a.split(':')[0]: attribute(a) for a in attributes})
        gradient = 'no' if all(v[2] == 0xffffffff for v in versions) else 'yes'
        text.append(f'| {name} | {versions[0][0]} to {last or 28} | {gradient} | {", ".join(known.values())} |'.replace(
            '|  |', '| |'))
    return '\n'.join(text) + '\n'


def main():
    program, page = sys.argv[1:3]
    with open(page, encoding='utf-8') as file:
        text = file.read()
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    new = table(program)
    if '--write' in sys.argv:
        with open(page, 'w', encoding='utf-8') as file:
            file.write(head + BEGIN + new + END + tail)
    elif old != new:
        print(f'{page}: the table of operators is not that of the code; run\n    python3 {sys.argv[0]} {program} {page} --write')
        sys.exit(1)


if __name__ == '__main__':
    main()
