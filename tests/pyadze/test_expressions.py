#!/usr/bin/env python3
"""Everyday expressions of PyTorch give what PyTorch gives, or an exception that names what is missing."""
import json
import math
import unittest

import adze
from expressions import HERE, lines, names, plain

# What differs from PyTorch, and why: an exception of this kind, whose message matches.
DIFFERENT = {
    'x.clone().t_()': (AttributeError, r'write x = x\.t\(\)'),
    'x.clone().unsqueeze_(0).shape': (AttributeError, 'write x = x.unsqueeze'),
    'x.clone().squeeze_().shape': (AttributeError, 'write x = x.squeeze'),
    'x.clone().transpose_(0, 1).shape': (AttributeError, 'write x = x.transpose'),
    'torch.func.vmap(lambda a: a * 2)(x)': (AttributeError, 'vmap'),
}


def close(a, b):
    """Whether two results are equal up to rounding of float32."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a['dtype'] == b['dtype'] and a['shape'] == b['shape'] and \
            all(map(close, map(number, a['numbers']), map(number, b['numbers'])))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isnan(a) and math.isnan(b) or abs(a - b) <= 2e-6 * max(1, abs(a), abs(b)) * 2
    return type(a) is type(b) and a == b


def number(text):
    return {'True': True, 'False': False}[text] if text in ('True', 'False') else \
        float(text) if any(c in text for c in '.enf') else int(text)


class Expressions(unittest.TestCase):
    def test_all(self):
        wanted = json.loads((HERE / 'expressions.json').read_text(encoding='utf-8'))
        self.assertEqual(lines(), list(wanted), 'make_expressions.py writes what PyTorch gives')
        for line in lines():
            if line in DIFFERENT:
                continue
            with self.subTest(line):
                made = json.loads(json.dumps(plain(eval(line, names(adze)))))
                self.assertTrue(close(made, wanted[line]), f'{made} instead of {wanted[line]}')

    def test_different(self):
        for line, (kind, pattern) in DIFFERENT.items():
            with self.subTest(line), self.assertRaisesRegex(kind, pattern):
                eval(line, names(adze))


if __name__ == '__main__':
    unittest.main()
