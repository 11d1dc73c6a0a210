#!/usr/bin/env python3
"""The examples of docs/python.md run, one after the other, in one program."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


class Examples(unittest.TestCase):
    def test_page(self):
        text = (TOP / 'docs/python.md').read_text(encoding='utf-8')
        blocks = re.findall(r'^```python\n(.*?)^```', text, flags=re.M | re.S)
        self.assertGreaterEqual(len(blocks), 2)
        scope = {}
        for i, block in enumerate(blocks):
            exec(compile(block, f'docs/python.md, example {i + 1}', 'exec'), scope) # noqa: S102
        self.assertLess(scope['loss'].item(), 10)


if __name__ == '__main__':
    unittest.main()
