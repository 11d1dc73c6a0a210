#!/usr/bin/env python3
"""Prints the name by which a program loads a shared library, such as libopenblas.so.0.

    soname.py LIBRARY FOLDER COMPILER...

LIBRARY is the name after -l, FOLDER the one after -L, or empty. Prints nothing if the compiler finds an archive only,
or if the system's programs are no ELF files. The name is read from a shared object that is linked with the library.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def soname(library, folder, compiler):
    with tempfile.TemporaryDirectory() as name:
        source, user = pathlib.Path(name) / "user.c", pathlib.Path(name) / "user.so"
        source.write_text("int user;\n")
        link = [*compiler, "-shared", "-fPIC", "-Wl,--no-as-needed", source, "-o", user,
                *([f"-L{folder}"] if folder else []), f"-l{library}"]
        if subprocess.run(link, capture_output=True, check=False).returncode != 0:
            return ""
        try:
            said = subprocess.run(["readelf", "-d", user], capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            return ""
    found = re.search(rf"NEEDED.*\[(lib{re.escape(library)}\b[^\]/]*)\]", said)
    return found.group(1) if found else ""


if __name__ == "__main__":
    print(soname(sys.argv[1], sys.argv[2], sys.argv[3:]))
