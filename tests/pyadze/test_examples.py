#!/usr/bin/env python3
"""The examples of the pages on Python run, those of a page one after the other in one program."""
import math
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def run_page(name):
    text = (TOP / 'docs' / name).read_text(encoding='utf-8')
    blocks = re.findall(r'^```python\n(.*?)^```', text, flags=re.M | re.S)
    scope = {}
    for i, block in enumerate(blocks):
        exec(compile(block, f'docs/{name}, example {i + 1}', 'exec'), scope) # noqa: S102
    return scope, len(blocks)


class Examples(unittest.TestCase):
    def test_page(self):
        scope, n = run_page('python.md')
        self.assertGreaterEqual(n, 3)
        self.assertLess(scope['loss'].item(), 10)
        self.assertAlmostEqual(scope['k'].grad.item(), -math.exp(-0.7), places=4)

    def test_tutorial(self):
        scope, n = run_page('tutorial-python.md')
        self.assertGreaterEqual(n, 9)
        self.assertLess(scope['loss'].item(), 0.05)


if __name__ == '__main__':
    unittest.main()
