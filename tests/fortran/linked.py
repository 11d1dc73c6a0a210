#!/usr/bin/env python3
"""Whether the Fortran module calls every public function of C.

    linked.py ADZE.json LIBADZE-FORTRAN.a
"""
import json
import pathlib
import subprocess
import sys


def main():
    functions = set(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8'))['functions'])
    listed = subprocess.run(['nm', '-u', sys.argv[2]], capture_output=True, text=True, check=True).stdout
    called = {word for word in listed.split() if word.startswith('adz_')}
    for name in sorted(functions - called):
        print(f'{name} is not called')
    for name in sorted(called - functions):
        print(f'{name} is called, but no header declares it')
    print(f'{len(functions & called)} functions are called')
    return 1 if functions != called or not functions else 0


if __name__ == '__main__':
    sys.exit(main())
