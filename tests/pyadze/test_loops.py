#!/usr/bin/env python3
"""Five training loops that are written for PyTorch run with only their imports changed, and give PyTorch's losses."""
import json
import pathlib
import re
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LOSSES = json.loads((HERE / 'losses.json').read_text(encoding='utf-8'))


def imports_changed(text):
    """`import torch` becomes `import adze as torch`, and `import torch.nn as nn` and `from torch import nn` follow."""
    text = re.sub(r'^import torch$', 'import adze as torch', text, flags=re.M)
    return re.sub(r'^(import|from) torch\b', r'\1 adze', text, flags=re.M)


def compare(name):
    def test(self):
        text = (HERE / 'loops' / f'{name}.py').read_text(encoding='utf-8')
        scope = {}
        exec(compile(imports_changed(text), name, 'exec'), scope) # noqa: S102
        found = scope['losses']
        self.assertEqual(len(found), len(LOSSES[name]))
        for i, (a, b) in enumerate(zip(found, LOSSES[name])):
            self.assertLess(abs(a - b), 1e-5 * abs(b) + 1e-7, f'number {i}')
    return test


class Loops(unittest.TestCase):
    def test_all_are_there(self):
        self.assertEqual({p.stem for p in (HERE / 'loops').glob('*.py')}, set(LOSSES) - {'made by', 'torch'})


for one in sorted(set(LOSSES) - {'made by', 'torch'}):
    setattr(Loops, 'test_' + one, compare(one))

if __name__ == '__main__':
    unittest.main()
