#!/usr/bin/env python3
"""Runs the test strd with all regressions of NIST's StRD, or writes the small ones for it.

usage: strd.py PROGRAM FOLDER       gets the data into FOLDER, runs PROGRAM with them
       strd.py --write FOLDER       writes small.c, beside this script

NIST's files are in the public domain (https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml). The source package of
lmfit has them; pip gets it from the Python package index. Without it the script exits with 77.
"""
import pathlib
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
VERSION = '1.3.4'
MOST_ROWS = 37
HEAD = '''/* Written by strd.py from the files of NIST, which are in the public domain:
 * https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml. The regressions of at most %d rows. */
#include "strd.h"

/* clang-format off */
const strd_problem strd_small[] = {
'''


def get(folder):
    """The folder with the .dat files."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(folder.glob('lmfit-*/NIST_STRD'))
    if not found:
        subprocess.run([sys.executable, '-m', 'pip', 'download', '--no-binary', 'lmfit', '--no-deps',
                        '--dest', str(folder), 'lmfit==' + VERSION], check=False)
        for archive in folder.glob('lmfit-*.tar.gz'):
            with tarfile.open(archive) as tar:
                tar.extractall(folder, members=[m for m in tar.getmembers() if '/NIST_STRD/' in m.name])
        found = list(folder.glob('lmfit-*/NIST_STRD'))
    if not found:
        print('the Python package index is not reachable')
        sys.exit(77)
    return found[0]


def numbers(values):
    """Numbers in lines of at most 96 columns."""
    lines = ['']
    for text in (f'{float(v)!r}'.removesuffix('.0') for v in values):
        if len(lines[-1]) + len(text) > 88:
            lines.append('')
        lines[-1] += text + ', '
    return '\n        '.join(line.rstrip().rstrip(',') + (',' if line is not lines[-1] else '') for line in lines)


def problem(path):
    """A regression as an initialiser; None if it has many rows."""
    lines = path.read_text(encoding='ascii').splitlines()
    rows = [line.split() for line in lines[60:] if line.strip()]
    table = [line.split('=')[1].split() for line in lines[40:58] if '=' in line]
    total = [line.split(':')[1].strip() for line in lines[40:58] if line.startswith('Residual Sum')][0]
    if len(rows) > MOST_ROWS:
        return None
    column = [', '.join(row[k] for row in table) for k in range(4)]
    return f'''    {{ .name = "{path.stem}", .parameters = {len(table)}, .rows = {len(rows)}, .columns = 1, .sum = {total},
      .starts = {{ {{ {column[0]} }}, {{ {column[1]} }} }},
      .certified = {{ {column[2]} }},
      .deviations = {{ {column[3]} }},
      .y = {{ {numbers(row[0] for row in rows)} }},
      .x = {{ {numbers(row[1] for row in rows)} }} }},
'''


def main():
    if sys.argv[1] == '--write':
        parts = [problem(path) for path in sorted(get(pathlib.Path(sys.argv[2])).glob('*.dat'))]
        text = HEAD % MOST_ROWS + ''.join(part for part in parts if part)
        (HERE / 'small.c').write_text(text + '''};
const int strd_small_count = (int)(sizeof strd_small / sizeof *strd_small);
''', encoding='ascii')
        return 0
    return subprocess.run([sys.argv[1], str(get(pathlib.Path(sys.argv[2])))], check=False).returncode


sys.exit(main())
