#!/usr/bin/env python3
"""Prints which tests of a run were skipped, and why: the last line that each of them wrote.

    skipped.py TESTLOG.json...      as `meson test` writes it, one test a line
"""
import json
import pathlib
import re
import sys


def reason(test):
    """The last line of what a test wrote; what it wrote to stderr counts if stdout is empty."""
    for stream in ('stdout', 'stderr'):
        lines = [line.strip() for line in (test.get(stream) or '').splitlines() if line.strip()]
        if lines:
            return lines[-1]
    return 'it does not say why'


def name_of(test):
    """Meson writes "adze:ops / NAME", and Meson 1.12 "ops - adze:NAME"."""
    return re.sub(r'^[^:]* - [^:]*:', '', test['name'].split(' / ')[-1])


skipped = {}
for log in sys.argv[1:]:
    for line in pathlib.Path(log).read_text(encoding='utf-8').splitlines():
        test = json.loads(line)
        if test['result'] == 'SKIP':
            skipped[name_of(test)] = reason(test)
if skipped:
    print('\nSkipped, and why:')
for name, why in skipped.items():
    print(f'  {name}: {why}')
