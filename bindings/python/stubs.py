#!/usr/bin/env python3
"""Writes type stubs, which editors and type checkers read, from adze.json and from the files of the package.

    stubs.py adze.json PACKAGE FOLDER STUB...

PACKAGE is the folder of the package, and FOLDER one in it, such as "." or "nn". Each STUB is that of the file of this
name in the folder; _adze.pyi is that of the extension.
"""
import ast
import json
import keyword
import pathlib
import re
import sys

import written
from function import rest_of
from generate import Extension, write

TYPES = {'double': 'float', 'float': 'float', 'bool': 'bool', 'char': 'str', 'adz_text': 'str', 'adz_dtype': 'int | str',
         'adz_shape': 'int | Sequence[int]', 'adz_dims': 'int | Sequence[int] | None',
         'adz_tensor_list': 'Sequence[Tensor]', 'adz_generator_state': 'tuple[int, int]', 'const char *': 'str',
         'const void *': 'bytes', 'const int64_t *': 'Sequence[int]', 'const double *': 'Sequence[float]',
         'const char *const *': 'Sequence[str]', 'const adz_text *': 'Sequence[str]',
         'const adz_named_tensor *': 'Any', 'adz_named_list': 'list[tuple[str, Tensor]]'}


# PyTorch's names of arguments, which calls take beside the library's (position_of in calls.c), and where it says dims, too.
WORDS = {'x': 'input', 'a': 'input', 'b': 'other', 'dims': 'dim'}
PLURAL = ('permute', 'flip', 'tile', 'repeat', 'tensordot')
# What conversions of results make.
CONVERTED = {'adzp_from_tensor': 'Tensor', 'adzp_from_list': 'list[Tensor]', 'adzp_from_bool': 'bool', 'adzp_from_string': 'str',
             'adzp_from_text': 'str', 'adzp_from_dtype': 'adze.dtype', 'adzp_from_shape': 'tuple[int, ...]',
             'adzp_from_dims': 'tuple[int, ...]', 'PyFloat_FromDouble': 'float'}


def output(text):
    """The type of what an expression of C makes, such as adzp_from_tensor(r_x)."""
    if text.startswith('Py_BuildValue("{'):
        made = sorted({output(call) for call in re.findall(r'"\w+", (\w+\()', text)})
        return f'dict[str, {" | ".join(made)}]'
    if text.startswith('adzp_from_handle'):
        return re.search(r'ADZP_adz_(\w+)', text).group(1)
    call = text.split('(')[0]
    return 'int' if call.startswith('PyLong_') else CONVERTED[call]


class Stubs:
    def __init__(self, table):
        self.table, self.made = table, Extension(table)

    def type_of(self, type_):
        """What Python calls a type of C."""
        if type_ in TYPES:
            return TYPES[type_]
        if type_ in self.table['enums']:
            return 'str | int'
        many = re.fullmatch(r'(?:const )?(\w+) \*const \*', type_)
        one = re.fullmatch(r'(?:const )?(\w+) \*', type_)
        found = (many or one).group(1) if many or one else ''
        if found in self.table['handles']:
            name = 'Tensor' if found == 'adz_tensor' else found[4:]
            return f'Sequence[{name}]' if many else name
        if type_ in self.table['callbacks'] or 'function' in type_:
            return 'Callable[..., Any]'
        return 'int' if re.fullmatch(r'u?int\d*_t|int|size_t', type_) else 'Any'

    def parameters(self, f):
        """(name, type, default) of each argument, those of options included."""
        types = {p['name']: p['type'] for p in f.f['parameters']}
        for p in f.f['parameters']:
            if p['role'] in ('struct', 'filled'):
                for field in self.table['structs'][re.search(r'(\w+) \*', p['type']).group(1)]['fields']:
                    types.setdefault(field['name'], field['type'])
        back = {'lr_lambda': 'lambda', 'params': 'parameters'}
        taken = {name for name, _, _ in f.python}
        for name, required, value in f.python:
            type_ = self.type_of(types.get(name, types.get(back.get(name, ''), 'int')))
            if f.f['header'].startswith('adze/ops/'):
                word = ('start_dim' if f.short == 'flatten' else name) if name == 'start' else \
                    ('end_dim' if f.short == 'flatten' else name) if name == 'end' else WORDS.get(name, name)
                name = name if word in taken or f.short in PLURAL and name == 'dims' else word
                taken.add(name)
            yield name, type_ + (' | None' if value == 'None' and not required and 'None' not in type_ else ''), required

    def signature(self, f, method):
        parts, after, rest = [], False, rest_of(f)
        for i, (name, type_, required) in enumerate(self.parameters(f)):
            if i == rest and i >= (1 if method else 0): # x.reshape(2, 3)
                parts.append(f'*{name}: Any')
                continue
            if method and i == 0:
                parts.append('self')
                continue
            after = after or not required
            name += '_' if keyword.iskeyword(name) else ''
            parts.append(f'{name}: {type_}{" = ..." if after else ""}')
        return f'({", ".join(parts)}) -> {self.result(f)}'

    def result(self, f):
        type_ = f.f['result']['type']
        made = f.returned()
        first = [] if made is None else ['str'] if made == 'text' else \
            [self.type_of(type_).replace('int | Sequence[int]', 'tuple[int, ...]').replace('Sequence', 'list')]
        outputs = first + [output(o) for o in f.outputs]
        return 'None' if not outputs else outputs[0] if len(outputs) == 1 else f'tuple[{", ".join(outputs)}]'

    def extension(self, _):
        lines = ['# Made from adze.json by bindings/python/stubs.py.', 'from collections.abc import Callable, Sequence',
                 'from typing import Any', '', 'version: str', 'operators: str', 'layers: str', 'optimizers: str',
                 'schedulers: str', '', 'class Error(RuntimeError):', '    status: str', '    operator: str', '']
        for name in self.table['enums']['adz_status']['values']:
            if name != 'ADZ_OK':
                lines.append(f'class {name.removeprefix("ADZ_ERR_").capitalize()}Error(Error): ...')
        for name in self.table['handles']:
            if name != 'adz_tensor':
                lines.append(f'class {name[4:]}: ...')
        lines += ['', 'class Tensor:', '    @property', '    def shape(self) -> tuple[int, ...]: ...', '    @property',
                  '    def dtype(self) -> adze.dtype: ...', '    @property', '    def ndim(self) -> int: ...',
                  '    requires_grad: bool', '    grad: Tensor | None', '    @property',
                  '    def is_leaf(self) -> bool: ...', '    def item(self) -> int | float | bool: ...']
        both = 'add sub mul truediv matmul mod floordiv pow and or xor lshift rshift'.split()
        lines += [f'    def __{side}{name}__(self, other: Any) -> Tensor: ...' for name in both for side in ('', 'r', 'i')]
        lines += [f'    def __{name}__(self, other: Any) -> Tensor: ...' for name in ('lt', 'le', 'gt', 'ge')]
        lines += [f'    def __{name}__(self, other: Any) -> Tensor: ...  # type: ignore[override]' for name in ('eq', 'ne')]
        lines += [f'    def __{name}__(self) -> Tensor: ...' for name in ('neg', 'pos', 'abs', 'invert')]
        lines += [f'    def __{name}__(self) -> {type_}: ...' for name, type_ in
                  (('bool', 'bool'), ('float', 'float'), ('int', 'int'), ('index', 'int'), ('len', 'int'), ('hash', 'int'))]
        for f in self.made.functions.values():
            if self.made.is_method(f):
                lines.append(f'    def {f.short.removeprefix("tensor_")}{self.signature(f, True)}: ...')
        lines.append('')
        for f in self.made.functions.values():
            if f.short != 'version': # a text of this name is there
                lines.append(f'def {f.short}{self.signature(f, False)}: ...')
        # the tensors that functions give are those of the package
        return '\n'.join(['import adze', *(line if line.startswith('class') else re.sub(r'\bTensor\b', 'adze.Tensor', line)
                                           for line in lines)]) + '\n'


    def package(self, folder):
        text = written.file(folder / '__init__.py')
        more = (folder / '_more.py').read_text(encoding='utf-8')
        known = set(re.findall(r'(?:def|class|as) (\w+)', text)) | set(re.findall(r'^(\w+): Any', text, re.M))
        # methods that __init__.py makes functions of, and the functions of _more.py
        tensor = re.sub(r'  # type.*', '', self.tensor(folder / '_tensor.py')).split('\n')
        lines = ['from ._tensor import _Extreme', 'from ._more import _Pair']
        lines += [re.sub(r'\(self\b', '(input: Tensor', line.strip()) for name in looped(folder / '__init__.py')
                  for i, one in enumerate(tensor) if one.startswith(f'    def {name}(')
                  for line in (tensor[i - 1:i] if 'overload' in tensor[i - 1] else []) + [one]]
        tree = ast.parse(more)
        for f in tree.body:
            if isinstance(f, ast.FunctionDef) and f.decorator_list or isinstance(f, ast.ClassDef):
                f.decorator_list = []
                lines += written.function(f, '_more') if isinstance(f, ast.FunctionDef) else written.class_(f)
        for n in '123':
            lines += ['@overload', f'def atleast_{n}d(tensor: Tensor, /) -> Tensor: ...', '@overload',
                      f'def atleast_{n}d(*tensors: Any) -> tuple[Tensor, ...]: ...']
        lines += [f'def {name}(*args: Any, **options: Any) -> Tensor: ...' for name in
                  ['row_stack', 'tril_indices', 'triu_indices', 'scatter', 'divide',
                   *(n for block in re.findall(r'for _name, _other in \{(.*?)\}', more, re.S)
                     for n in re.findall(r"'(\w+)':", block))]]
        known |= set(re.findall(r'(?:def|class) (\w+)', '\n'.join(lines)))
        own = [f.short for f in self.made.functions.values() if f.f['header'].startswith('adze/ops/')]
        errors = [name.removeprefix('ADZ_ERR_').capitalize() + 'Error'
                  for name in self.table['enums']['adz_status']['values'] if name != 'ADZ_OK']
        lines += [f'from ._adze import {n} as {n}' for n in own + errors if n not in known]
        return text + '\n'.join(lines) + '\n'

    def layers(self, folder):
        lines = written.HEAD + list(written.imports(ast.parse((folder / 'nn/__init__.py').read_text(encoding='utf-8'))))
        lines += ['from .._adze import generator, module', 'from .._tensor import Tensor']
        by_short = {f.short: f for f in self.made.functions.values()}
        for pair in self.made.named('torch.nn.').strip('"').split():
            name, short = pair.split('=')
            if f' {name} as' not in ' '.join(lines):
                arguments = self.signature(by_short[short], False).split(') -> ')[0][1:].replace('module', 'Module')
                arguments += ', ' * bool(arguments) + '**options: Any'
                lines += [f'class {name}(Layer):', f'    def __init__(self, {arguments}) -> None: ...']
        return '\n'.join(lines) + '\n'

    def classes(self, start, base):
        """Classes that a file makes of the library's constructors, such as optimizers."""
        by_short = {f.short: f for f in self.made.functions.values()}
        for pair in self.made.named(start).strip('"').split():
            name, short = pair.split('=')
            if name != base:
                arguments = self.signature(by_short[short], False).split(') -> ')[0][1:]
                arguments = re.sub(r'Sequence\[(Tensor|scheduler)\]|: optimizer\b', lambda m: ': Any' if m.group(0)[0] == ':' else 'Any', arguments)
                arguments = re.sub(r'\blr: float,', 'lr: float = ...,', re.sub(r'\blr: float$', 'lr: float = ...', arguments))
                yield f'class {name}({base}):'
                yield f'    def __init__(self, {arguments}, **options: Any) -> None: ...'

    def tensor(self, path):
        """The stub of the class Tensor, with the choices along a dimension."""
        chosen = [f'def {name}{self.signature(self.made.functions["adz_" + name], True).split(" -> ")[0]} -> _Extreme: ...  # type: ignore[override]'
                  for name in looped(path)]
        return written.file(path, methods=[*written.methods_of_more(path.parent / '_more.py'), *chosen])

    def file(self, path):
        if path.name == '_tensor.py':
            return self.tensor(path)
        more = []
        if path.name in ('functional.py', 'special.py', 'init.py'):
            place = '..' if path.parent.name == 'nn' else '.'
            own = [f.short for f in self.made.functions.values() if f.f['header'].startswith('adze/ops/')]
            text = path.read_text(encoding='utf-8')
            if path.name == 'functional.py':
                more = [f'from {place}_adze import {n} as {n}' for n in own if f'def {n}(' not in text]
                more += [f'def {kind}{n}d(*args: Any, **options: Any) -> Tensor: ...' for n in '123' for kind in
                         ('conv', 'conv_transpose', 'max_pool', 'adaptive_max_pool', 'avg_pool')
                         if f'{kind}{n}d' not in own]
            elif path.name != 'linalg.py': # names that a loop takes from the extension
                more = ['def __getattr__(name: str) -> Any: ...']
        if path.name == 'optimizer.py':
            more = list(self.classes('torch.optim.', 'Optimizer'))
        if path.name == 'lr_scheduler.py':
            more = [re.sub(r'optimizer: Any.*\) ->', 'optimizer: Any, *args: Any, **options: Any) ->', line)
                    for line in self.classes('torch.optim.lr_scheduler.', 'LRScheduler')]
        if path.name == '__init__.py' and path.parent.name == 'optim':
            more = ['from .optimizer import *']
        return written.file(path, more)


def looped(path):
    """The names for which a loop of a file makes functions."""
    return [one.value for node in ast.parse(path.read_text(encoding='utf-8')).body
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple)
            for one in node.iter.elts if isinstance(one, ast.Constant)]


def main():
    stubs = Stubs(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')))
    package, folder = pathlib.Path(sys.argv[2]), sys.argv[3]
    makers = {('.', '_adze'): stubs.extension, ('.', '__init__'): stubs.package, ('nn', '__init__'): stubs.layers}
    for path in map(pathlib.Path, sys.argv[4:]):
        maker = makers.get((folder, path.stem))
        text = maker(package) if maker else stubs.file(package / folder / f'{path.stem}.py')
        write(path, text if path.stem == '_adze' else written.plain(text))


if __name__ == '__main__':
    main()
