#!/usr/bin/env python3
"""Everyday expressions of PyTorch give what PyTorch gives, or an exception that names what is missing."""
import ast
import builtins
import importlib
import inspect
import json
import math
import pathlib
import types
import typing
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


class Stubs:
    """The stubs of the package as functions of Python, whose annotations are read."""

    def __init__(self):
        self.files, self.several, self.folder = {}, {}, pathlib.Path(adze.__file__).parent

    def overload(self, f):
        """A declaration of several: the last one has them all."""
        f.declared = [*self.several.get((f.__module__, f.__qualname__), []), f]
        self.several[f.__module__, f.__qualname__] = f.declared
        return f

    def names(self, path):
        """The names that a stub defines, among those of the module that it describes."""
        if path not in self.files:
            tree = ast.parse((self.folder / path).read_text(encoding='utf-8'))
            for node in ast.walk(tree): # classes of the same names as in the module: those are what results are
                if isinstance(node, ast.ClassDef) and node.name != 'Tensor':
                    node.name += '_stub'
            name = 'adze.' + path.removesuffix('.pyi').replace('/', '.').replace('__init__', 'here')
            module = importlib.import_module(name.replace('.here', ''))
            kept = ast.Module([n for n in tree.body if not (isinstance(n, ast.ImportFrom) and (n.level or n.module == 'typing'))], [])
            self.files[path] = made = {**vars(typing), **vars(module), '__name__': path, 'adze': adze, 'overload': self.overload}
            exec(compile('from __future__ import annotations\n' + ast.unparse(kept), path, 'exec'), made)
            private = {n: v for m in (adze._tensor, adze._more) for n, v in vars(m).items() if isinstance(v, type)}
            made['types of results'] = {**made, **private, **vars(module), 'Tensor': adze.Tensor, 'adze': adze}
        return self.files[path]

    def of(self, owner, name):
        """The function of a stub that stands for owner.name, or None, and the names of its file."""
        class_ = 'Tensor' if isinstance(owner, adze.Tensor) else None
        if class_ is None and not isinstance(owner, types.ModuleType):
            return None, None
        place = getattr(getattr(owner, name), '__module__', None) or 'adze._adze' # where a function is written
        here = '_tensor' if class_ else f'{owner.__name__}.__init__'.removeprefix('adze.') if owner is adze else owner.__name__
        for path in dict.fromkeys(p.removeprefix('adze.').replace('.', '/') + '.pyi' for p in (here, place, 'adze._adze')):
            if not (self.folder / path).exists() or path == '_adze.pyi' and place not in ('adze._adze', 'adze._tensor'):
                continue
            names_ = self.names(path)
            found = vars(names_[class_]).get(name) if class_ else names_.get(name)
            if isinstance(found, types.FunctionType) and found.__module__ == path:
                return found, names_
        return None, None


def fits(value, hint):
    """Whether a value is what an annotation says. An int passes as a float among arguments, and is written so."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in (typing.Any, typing.Self):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in args)
    if origin is typing.Literal:
        return any(value is one for one in args)
    if origin is tuple:
        each = args[:1] * len(value) if isinstance(value, tuple) and args[1:] == (...,) else args
        return isinstance(value, tuple) and len(value) == len(each) and all(map(fits, value, each))
    if origin is list or origin and issubclass(origin, (typing.Sequence, typing.Iterable)) and args and origin is not dict:
        return isinstance(value, origin) and all(fits(one, args[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(one, args[1]) for one in value.values())
    if origin is not None:
        return isinstance(value, origin)
    return isinstance(value, (int, float) if hint is float else type(None) if hint is None else hint)


def wrong(f, names_, args, options, made):
    """What a stub says of the result that is not so, or None."""
    several = getattr(f, 'declared', [f])
    for one in several:
        hints = {k: eval(v, names_['types of results'] | {'builtins': builtins}) for k, v in one.__annotations__.items()}
        try:
            given = inspect.signature(one).bind(*args, **options).arguments
        except TypeError:
            continue
        if len(several) > 1 and not all(fits(value, hints.get(name, typing.Any)) for name, value in given.items()):
            continue
        return None if fits(made, hints['return']) and (hints['return'] is not float or type(made) is float) else \
            f'{made!r} is not {one.__annotations__["return"]}'
    return 'no declaration takes these arguments'


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

    def test_stubs(self):
        stubs, checked = Stubs(), set()
        for line in lines():
            tree = ast.parse(line, mode='eval').body
            inside = {c for n in ast.walk(tree) if isinstance(n, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.IfExp)) for c in ast.walk(n)}
            for call in ast.walk(tree):
                if line in DIFFERENT or not isinstance(call, ast.Call) or call in inside or not isinstance(call.func, ast.Attribute):
                    continue
                known = names(adze)

                def value(node):
                    return eval(compile(ast.Expression(node), line, 'eval'), known)
                owner = value(call.func.value)
                f, names_ = stubs.of(owner, call.func.attr)
                args = [x for a in call.args for x in (value(a.value) if isinstance(a, ast.Starred) else [value(a)])]
                options = {'dim' if k.arg == 'axis' else k.arg: value(k.value) for k in call.keywords if k.arg} # stubs have one name
                if f is not None:
                    with self.subTest(line):
                        made = getattr(owner, call.func.attr)(*args, **options)
                        given = [owner, *args] if isinstance(owner, adze.Tensor) else args
                        self.assertIsNone(wrong(f, names_, given, options, made))
                    checked.add((type(owner), call.func.attr))
        self.assertGreater(len(checked), 250)

    def test_stubs_notice(self):
        def declared(x: 'int') -> 'tuple[int, ...]': ...
        known = {'types of results': {}}
        self.assertIsNone(wrong(declared, known, [1], {}, (1, 2)))
        for args, made in (([1], [1, 2]), ([1], (1, 'a')), ([1, 2], (1,)), ([1], 1)):
            self.assertIsNotNone(wrong(declared, known, args, {}, made))

    def test_different(self):
        for line, (kind, pattern) in DIFFERENT.items():
            with self.subTest(line), self.assertRaisesRegex(kind, pattern):
                eval(line, names(adze))


if __name__ == '__main__':
    unittest.main()
