#!/usr/bin/env python3
"""A selection of the test cases of onnx as one text, so that the tests of the tree can run it.

selection.py pack FOLDER TEXT       chooses the smallest cases of each operator of those that generate.py wrote and
                                    that pass, as the report of adze-onnx-suite on the standard input says
selection.py run PROGRAM TEXT       unpacks the cases and runs adze-onnx-suite with them: no result may be wrong, and
                                    all of them must pass
"""

import base64
import pathlib
import subprocess
import sys
import tempfile
import textwrap

MOST = 280_000  # bytes of text
HEAD = """# Test cases of the package onnx 1.23.2, which generates them (Apache License 2.0, ONNX project contributors).
# Made by selection.py: the line of a case, as cases.txt has it, and the files of the case in base64.
"""


def text_of(folder, line):
    kind, name = line.split()[:2]
    lines = ['case ' + line]
    for file in sorted((folder / kind / name).iterdir()):
        lines.append('file ' + file.name)
        lines += textwrap.wrap(base64.b64encode(file.read_bytes()).decode(), 116)
    return '\n'.join(lines) + '\n'


def pack(folder, target, passed):
    """Takes the smallest case of each operator, then the second one, and so on."""
    operators = {}
    for line in (folder / 'cases.txt').read_text().splitlines():
        kind, name, held = line.split()[:3]
        if held == '1' and f'{kind} {name}' in passed:
            operators.setdefault(line.split()[-1], []).append(text_of(folder, line))
    for texts in operators.values():
        texts.sort(key=len)
    chosen, size = [], len(HEAD)
    for rank in range(3):
        for text in sorted((t[rank] for t in operators.values() if len(t) > rank), key=len):
            if size + len(text) <= MOST:
                chosen.append(text)
                size += len(text)
    target.write_text(HEAD + ''.join(sorted(chosen)))
    print(f'{len(chosen)} cases of {len(operators)} operators, {size} bytes')


def unpack(text, folder):
    lines, name, data, current = [], None, [], None

    def close():
        if name is not None:
            current.mkdir(parents=True, exist_ok=True)
            (current / name).write_bytes(base64.b64decode(''.join(data)))

    for line in text.read_text().splitlines():
        if line.startswith('case '):
            close()
            name, data = None, []
            lines.append(line[5:])
            current = folder / line.split()[1] / line.split()[2]
        elif line.startswith('file '):
            close()
            name, data = line[5:], []
        elif not line.startswith('#'):
            data.append(line)
    close()
    (folder / 'cases.txt').write_text('\n'.join(lines) + '\n')
    return len(lines)


def run(program, text):
    with tempfile.TemporaryDirectory(prefix='adze-onnx-') as folder:
        count = unpack(text, pathlib.Path(folder))
        for options in ([], ['--gradients']):
            result = subprocess.run([program, folder, *options], capture_output=True, text=True)
            passed = sum(line.startswith('passed') for line in result.stdout.splitlines())
            if result.returncode != 0 or passed != count:
                print(''.join(line + '\n' for line in result.stdout.splitlines() if not line.startswith('passed')),
                      result.stderr)
                sys.exit(f'{passed} of {count} cases pass {" ".join(options)}')
    print(f'{count} cases pass')


if __name__ == '__main__':
    if sys.argv[1] == 'pack':
        report = sys.stdin.read().splitlines()
        pack(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]),
             {' '.join(line.split()[1:3]) for line in report if line.startswith('passed')})
    else:
        run(sys.argv[2], pathlib.Path(sys.argv[3]))
