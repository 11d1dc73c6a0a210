#!/usr/bin/env python3
"""What results.py notices: wrong figures, rows that nobody makes, and commands without a row."""
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parent / 'results.py'
PROGRAM = """#!/usr/bin/env python3
import sys
seed = int(sys.argv[sys.argv.index('--seed') + 1]) if '--seed' in sys.argv else 0
print(f'alone {seed} 7')
print(f'result: set=a accuracy={0.9 + seed / 1000:.4f}')
print(f'result: set=b accuracy={0.5 + seed / 100:.4f}')
"""
PAGE = """# A page
<!-- results
cells: accuracy mean:accuracy
first: quick fake --seed {1..3} | set=a
second: fake --seed {1..3}
others: a peer
-->

| name | figures | mean |
|---|---|---|
| first | 0.901, 0.902, 0.903 | 0.90 |
| second | 0.51, 0.52, 0.53 | 0.520 |
| a peer | 0.3 | |

<!-- results
cells: #1 sd:#1+max:#1
by hand: fake --seed {1..3} | alone
-->

| name | | mean | others |
|---|---|---|---|
| by | hand | 2.0 | 1.00, 3 |

<!-- results
cells: accuracy
with data: fake --data {data}/x.csv | set=a
-->

| name | accuracy |
|---|---|
| with data | 0.9000 |
"""


def check(page, code, message='', everything=True, data=True):
    pathlib.Path('page.md').write_text(page, encoding='utf-8')
    command = [sys.executable, SCRIPT, *(['--all'] if everything else []), 'page.md', '.', *(['.'] if data else [])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith('ADZE_')}
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                          check=False)
    assert done.returncode == code and message in done.stdout, (done.returncode, message, done.stdout)


def changed(old, new):
    assert PAGE.count(old) == 1, old
    return PAGE.replace(old, new)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path('fake').write_text(PROGRAM, encoding='utf-8')
        os.chmod('fake', 0o755)
        check(PAGE, 0)
        check(PAGE, 0, everything=False)
        check(PAGE, 77, 'left out, no folder of data', data=False)
        for old, new in (('0.902', '0.904'), ('0.901, ', ''), ('0.520', '0.521'), ('1.00, 3', '1.01, 3'),
                         ('1.00, 3', '1.00, 4'), ('0.52, 0.53 ', '0.52, 0.53, 0.54 ')):
            check(changed(old, new), 1, 'should be')
        check(changed('0.901', '0.911'), 1, 'should be 0.901', everything=False)
        check(changed('0.53 |', '0.54 |'), 0, everything=False)
        check(changed('others: a peer\n', ''), 1, 'no command makes the row "a peer"')
        check(changed('| a peer | 0.3 | |\n', ''), 1, 'names the row "a peer", which it lacks')
        check(changed('cells: accuracy mean:accuracy\n', 'cells: accuracy\n'), 1, '1 keys for 2 columns')
        check('| a | b |\n|---|---|\n| c | 1 |\n', 1, 'no command makes the row "c"')
        check('no table\n', 1, 'has no table')
        check(changed('{1..3} | set=a', '{1..3} | set=z'), 1, 'no line of its output is "set=z"')
        os.chdir('/')


main()
