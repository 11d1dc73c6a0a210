#!/usr/bin/env python3
"""Every public function of the library is one of the package, or bindings/python/names.py says why it is not.

    test_complete.py adze.json
"""
import ast
import json
import pathlib
import re
import sys
import tomllib
import unittest

import adze
from adze import _adze, nn

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / 'bindings/python'))
import names # noqa: E402

TABLE = json.loads(pathlib.Path(sys.argv.pop(1)).read_text(encoding='utf-8'))


class Complete(unittest.TestCase):
    def test_functions(self):
        unknown = [name for name, f in TABLE['functions'].items()
                   if not hasattr(_adze, name[4:]) and names.left_out(name, f) is None]
        self.assertEqual(unknown, [], 'give them conversions, or a reason in bindings/python/names.py')

    def test_reasons_are_needed(self):
        for pattern in names.LEFT_OUT:
            self.assertTrue(any(names.re.fullmatch(pattern, name) for name in TABLE['functions']), pattern)

    def test_operators_and_layers(self):
        for name, f in TABLE['functions'].items():
            if f['header'].startswith('adze/ops/') and hasattr(_adze, name[4:]):
                self.assertTrue(hasattr(adze, name[4:]), name)
        for name in ('Linear', 'Conv2d', 'LSTM', 'TransformerEncoderLayer', 'CrossEntropyLoss', 'BatchNorm1d'):
            self.assertIn('torch.nn.' + name, getattr(nn, name).__doc__)
            self.assertIn('Arguments:', getattr(nn, name).__doc__)

    def test_errors(self):
        for name in TABLE['enums']['adz_status']['values']:
            if name != 'ADZ_OK':
                made = getattr(adze, name.removeprefix('ADZ_ERR_').capitalize() + 'Error')
                self.assertTrue(issubclass(made, adze.Error))


    def test_wheel(self):
        project = tomllib.loads((TOP / 'pyproject.toml').read_text(encoding='utf-8'))
        self.assertEqual(project['project']['version'], adze.__version__.replace('-dev', '.dev0'))
        self.assertEqual(project['project']['dependencies'], ['numpy'])
        known = set(re.findall(r"^option\('(\w+)'", (TOP / 'meson_options.txt').read_text(encoding='utf-8'), flags=re.M))
        for option in project['tool']['meson-python']['args']['setup']:
            self.assertIn(option[2:].split('=')[0], known | {'buildtype', 'default_library'})

    def test_stubs_of_classes(self):
        folder = pathlib.Path(adze.__file__).parent
        for name, class_, wanted, unwanted in (
                ('_tensor.pyi', 'Tensor', {'backward', 'register_hook', 'mm', 'exp_', 'unflatten'}, {'__getattr__', '_text'}),
                ('optim/optimizer.pyi', 'Optimizer', {'step', 'state_dict', 'param_groups'}, {'_add_groups'}),
                ('nn/module.pyi', 'Module', {'parameters', 'register_forward_hook', '__getattr__'}, {'_named'})):
            tree = ast.parse((folder / name).read_text(encoding='utf-8'))
            body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_).body
            made = {node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.target) for node in body}
            self.assertEqual((wanted - made, unwanted & made), (set(), set()), name)

    def test_stubs(self):
        folder = pathlib.Path(adze.__file__).parent
        for name, module, least in (('_adze.pyi', _adze, 900), ('__init__.pyi', adze, 300), ('nn/__init__.pyi', nn, 100)):
            known = 0
            for node in ast.parse((folder / name).read_text(encoding='utf-8')).body:
                names_ = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else \
                    [a.asname for a in node.names if a.asname] if isinstance(node, ast.ImportFrom) else []
                for one in names_:
                    self.assertTrue(hasattr(module, one), f'{name}: {one}')
                    known += 1
            self.assertGreater(known, least)


if __name__ == '__main__':
    unittest.main()
