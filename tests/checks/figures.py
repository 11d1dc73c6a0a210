#!/usr/bin/env python3
"""The README's figures are those of this build, and those of the pages that it rests on.

    figures.py TOP BUILD [--library FILE] [--program FFN_REGRESSION]

FILE is the shared library, if it is built as users build it. The README's figure may differ from its size by a
tenth, because compilers differ.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

top, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
given = dict(zip(sys.argv[3::2], sys.argv[4::2]))
readme = (top / 'README.md').read_text()
wrong = []

# Steps of the README's table, and where docs/performance.md has them: the row's name and the number of threads.
STEPS = {
    '13-50-1 with dropout, 128 rows, Adam': 'mlp',
    '512-2048-512 with ReLU, 40 rows, SGD': 'W2',
    '768-3072-768 with GELU, 512 rows, AdamW': 'W6',
    'small convolutional network, 32 images of 32 x 32, SGD': 'cnn',
}


def cells(line):
    return [cell.strip() for cell in line.strip().strip('|').split('|')]


def number_after(words):
    found = re.search(words + r'\D*?(\d+(?:\.\d+)?)', readme)
    if found is None:
        wrong.append(f'README has no figure after "{words}"')
        return math.nan
    return float(found.group(1))


def speed():
    """Each row of the README's table against the row of docs/performance.md for one thread."""
    page = (top / 'docs/performance.md').read_text()
    page = page[page.index('PyTorch 2.15'):]
    rows = {}
    for line in page.splitlines():
        if line.startswith('|') and cells(line)[2:3] == ['1']:
            rows.setdefault(cells(line)[0], cells(line)[3:])
    table = [cells(line) for line in readme.splitlines() if line.startswith('|') and cells(line)[0] in STEPS]
    if len(table) != len(STEPS):
        wrong.append(f'README has {len(table)} of the {len(STEPS)} steps that this script knows')
    for step, *figures in table:
        wanted = [figure.split(' to ')[0] for figure in rows[STEPS[step]]]
        if figures != wanted:
            wrong.append(f'README says {figures} of "{step}", docs/performance.md {wanted}')


def programs():
    """The programs that the README lists are those of examples/run.sh."""
    known = re.search(r"^programs='(.*)'$", (top / 'examples/run.sh').read_text(), re.M).group(1).split()
    listed = re.findall(r'^- `([a-z-]+)` ', readme, re.M)
    if sorted([*listed, 'ffn-regression']) != sorted(known):
        wrong.append(f'README lists {listed}, examples/run.sh has {known}')
    if f'{["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"][len(listed)]} more programs' not in readme:
        wrong.append(f'README lists {len(listed)} programs and gives another number')


def launches():
    """Nothing in the README needs more than two cores: Open MPI starts no more ranks than there are."""
    for ranks in re.findall(r'mpirun -n (\d+)', readme):
        if int(ranks) > 2:
            wrong.append(f'README: mpirun -n {ranks} fails on two cores')


def tests():
    count = len(json.loads((build / 'meson-info/intro-tests.json').read_text()))
    said = number_after('more than')
    if not said < count < 2 * said:
        wrong.append(f'README says more than {said:g} tests, and there are {count}')


def size():
    measured = os.path.getsize(given['--library']) / 1e6
    said = number_after('size of the library')
    if not 0.9 * said < measured < 1.1 * said:
        wrong.append(f'README says {said} MB, and {given["--library"]} has {measured:.2f} MB')


def output():
    """What the first command prints: words and whole numbers as they are, others within 15 in 100. The line
    about the machine is compared up to the version."""
    said = re.search(r'^```\n(\d+ parameters; .*?)^```$', readme, re.M | re.S).group(1).splitlines()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.path.abspath(given['--program']), '--plot', 'none'], cwd=folder, text=True,
                              capture_output=True, check=True)
    got = iter(done.stdout.splitlines() + done.stderr.splitlines())
    for line in said:
        if line == '...':
            continue
        words = line.split()
        if line is said[0]:
            words = words[:4]
        if not any(fits(words, other.split()) for other in got):
            wrong.append(f'README shows a line that ffn-regression does not print, or not there: {line}')
            return


def fits(wanted, got):
    if len(got) < len(wanted):
        return False
    for a, b in zip(wanted, got):
        if a != b and not (re.fullmatch(r'\d*\.\d+', a) and re.fullmatch(r'\d*\.?\d+', b) and
                           math.isclose(float(a), float(b), rel_tol=0.15)):
            return False
    return True


for check in speed, programs, launches, tests:
    check()
if '--library' in given:
    size()
if '--program' in given:
    output()
print('\n'.join(wrong) or "the README's figures agree with this build and its pages")
sys.exit(bool(wrong))
