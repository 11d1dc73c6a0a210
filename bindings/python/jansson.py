#!/usr/bin/env python3
"""Where libjansson is, for a wheel that brings its own copy.

    jansson.py CC...

Prints three lines: the file of the shared library, the name by which programs load it, and its licence. Prints nothing
where one of them is missing; the wheel then loads the system's libjansson, and Meson warns.
"""
import pathlib
import re
import subprocess
import sys

LICENCES = ('/usr/share/doc/libjansson4/copyright', '/usr/share/licenses/jansson/LICENSE', '/usr/share/doc/jansson/LICENSE')


def main():
    said = subprocess.run([*sys.argv[1:], '-print-file-name=libjansson.so'], capture_output=True, text=True, check=False).stdout
    library = pathlib.Path(said.strip()).resolve()
    name = re.match(r'libjansson\.so\.\d+', library.name)
    licence = next((path for path in LICENCES if pathlib.Path(path).is_file()), None)
    if name and library.is_file() and licence:
        print(library, name.group(), licence, sep='\n')


if __name__ == '__main__':
    main()
