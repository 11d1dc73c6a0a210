#!/usr/bin/env python3
"""tests/skipped.py prints the reason of each test that was skipped. Every script that exits with 77 has one.

    test_skipped.py TOP
"""
import json
import pathlib
import subprocess
import sys
import tempfile

top = pathlib.Path(sys.argv[1])
RUN = [
    {'name': 'adze:ops / passes', 'result': 'OK', 'stdout': 'well\n'},
    {'name': 'adze:ops / no program', 'result': 'SKIP', 'stdout': 'looked\nthere is no mpirun\n\n'},
    {'name': 'adze:ops / on stderr', 'result': 'SKIP', 'stdout': '', 'stderr': 'no doxygen\n'},
    {'name': 'adze:ops / silent', 'result': 'SKIP'},
    {'name': 'ops+long - adze:as Meson 1.12: writes it', 'result': 'SKIP', 'stdout': 'no GPU'},
]
WANTED = """
Skipped, and why:
  no program: there is no mpirun
  on stderr: no doxygen
  silent: it does not say why
  as Meson 1.12: writes it: no GPU
"""
with tempfile.TemporaryDirectory() as folder:
    log = pathlib.Path(folder, 'testlog.json')
    for run, wanted in ((RUN, WANTED), (RUN[:1], '')):
        log.write_text(''.join(json.dumps(test) + '\n' for test in run))
        got = subprocess.run([sys.executable, top / 'tests/skipped.py', log], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        assert got == wanted, got

# A script, or the main of a program, says why before it ends with 77: the line before prints.
silent = []
for path in sorted(top.glob('tests/**/*')):
    if path.suffix not in ('.c', '.py', '.sh') or path.resolve() == pathlib.Path(__file__).resolve():
        continue
    lines = path.read_text(encoding='utf-8').splitlines()
    for number, line in enumerate(lines):
        if path.suffix == '.c' and 'int main(' not in '\n'.join(lines[:number]).rsplit('\n}\n', 1)[-1]:
            continue
        if line.strip() in ('return 77;', 'return 77', 'sys.exit(77)', 'exit 77', 'return SKIPPED') and \
                not any(word in lines[number - 1] for word in ('print', 'echo', 'puts')):
            silent.append(f'{path.relative_to(top)}:{number + 1}')
        if '|| exit 77' in line:
            silent.append(f'{path.relative_to(top)}:{number + 1}')
print('\n'.join(f'{line}: no reason is printed in the line before' for line in silent) or 'every skip has a reason')
sys.exit(bool(silent))
