#!/usr/bin/env python3
"""Writes the operator that the documentation shows as a header, so that the tests run that very text.

    documented.py SOURCE_ROOT OUTPUT

The first example of adze/record.h and that of the tutorial's section must define the same operator.
"""
import pathlib
import sys


def definitions(example):
    """What the example defines, without the comments between the functions."""
    return examples.split(example.text)[0]


root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(root / 'tests/checks'))
sys.dont_write_bytecode = True
import examples  # pylint: disable=wrong-import-position,import-error

header = definitions(examples.from_header(root / 'include/adze/record.h')[0])
tutorial = [definitions(e) for e in examples.from_markdown(root / 'docs/tutorial.md')
            if 'adz_operator_call' in e.text]
if tutorial[:1] != [header]:
    sys.exit('docs/tutorial.md and adze/record.h show different operators as their first example')
output.write_text('/* Written by tests/autograd/operator_call/documented.py. */\n' + header)
