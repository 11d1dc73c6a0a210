#!/usr/bin/env python3
"""Writes the operator that the documentation shows as a header, so that the tests run that very text.

    documented.py SOURCE_ROOT OUTPUT

The first example of adze/operator.h and that of the tutorial's section must define the same operator.
"""
import pathlib
import re
import sys


def definitions(text):
    """What a block defines, without the comments between the functions."""
    return examples.split(text)[0]


root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(root / 'tests/checks'))
sys.dont_write_bytecode = True
import examples  # pylint: disable=wrong-import-position,import-error

code = re.search(r'@code\n(.*?)@endcode', (root / 'include/adze/operator.h').read_text(), re.S).group(1)
header = definitions(re.sub(r'^ \* ?', '', code, flags=re.M))
blocks = re.findall(r'^```c\n(.*?)^```', (root / 'docs/tutorial.md').read_text(), re.M | re.S)
tutorial = [definitions(block) for block in blocks if 'adz_operator_call' in block]
if tutorial[:1] != [header]:
    sys.exit('docs/tutorial.md and adze/operator.h show different operators as their first example')
output.write_text('/* Written by tests/autograd/operator_call/documented.py. */\n' + header)
