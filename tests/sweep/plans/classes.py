#!/usr/bin/env python3
"""Writes the lists of functions that a captured function may call, for the sweep of plans.

    classes.py INCLUDE_DIR CAPTURED.txt OUTPUT.c

Operators may be called, and the functions that CAPTURED.txt lists below what a replay does for them.
All other functions must be refused.
"""
import fnmatch
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import generate  # noqa: E402

# Functions that cannot be called there, each with its reason.
NOT_CALLED = {
    'adz_node_needs_input_grad': 'there is a node only in the backward of an operator of the program',
    'adz_node_input_at': 'as adz_node_needs_input_grad',
    'adz_node_result_at': 'as adz_node_needs_input_grad',
    'adz_node_extra_at': 'as adz_node_needs_input_grad',
    'adz_node_attributes': 'as adz_node_needs_input_grad',
    'adz_update_setting': 'there is an update only in the step of an optimizer of the program',
    'adz_set_allocator': 'the calls around it hold memory',
    'adz_die': 'it ends the process',
    'adz_fields_check': 'the sweep has no table whose rows fit its memory',
    'adz_options_take': 'as adz_fields_check',
    'adz_options_defaults': 'as adz_fields_check',
}


def listed(path, every):
    """The names of the functions that the file lists. A name may be a pattern."""
    text = '\n'.join(line for line in path.read_text().splitlines() if not line.startswith('#'))
    names = set()
    for heading, body in re.findall(r'\[([^]]*)\]([^[]*)', text):
        if not heading.strip():
            raise generate.Unknown(f'{path.name}: an empty heading: what does a replay do?')
        for pattern in body.split():
            found = set(fnmatch.filter(every, pattern))
            if not found or found & names:
                raise generate.Unknown(f'{path.name}: {pattern} is no function, or listed twice')
            names |= found
    return names


def array(name, items):
    rows = ''.join(f'    "{i}",\n' for i in sorted(items))
    return (f'const char *const {name}[] = {{\n{rows}}};\n'
            f'const size_t n_{name} = sizeof {name} / sizeof *{name};\n')


def main():
    include, captured, output = (pathlib.Path(a) for a in sys.argv[1:4])
    every = {name for _, name, _ in generate.Headers(include).functions}
    operators = {name for _, name, _ in generate.Headers(include / 'adze/ops').functions}
    names = listed(captured, every - operators)
    wrong = sorted(set(NOT_CALLED) - every)
    if wrong:
        raise generate.Unknown(f'there is no such function: {", ".join(wrong)}')
    text = ('/* Written by tests/sweep/plans/classes.py. */\n#include <stddef.h>\n'
            'extern const char *const captured_functions[], *const uncalled_functions[];\n'
            'extern const size_t n_captured_functions, n_uncalled_functions;\n' +
            array('captured_functions', operators | names) +
            array('uncalled_functions', NOT_CALLED))
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == '__main__':
    try:
        main()
    except generate.Unknown as reason:
        sys.exit(f'classes.py: {reason}')
