#!/usr/bin/env python3
"""Writes type stubs, which editors and type checkers read, from adze.json.

    stubs.py adze.json PACKAGE extension|package|layers STUB

PACKAGE is the folder of the package. The stubs are those of its extension, of the package itself and of adze.nn.
"""
import ast
import json
import keyword
import pathlib
import re
import sys

from generate import Extension, write

TYPES = {'double': 'float', 'float': 'float', 'bool': 'bool', 'char': 'str', 'adz_text': 'str', 'adz_dtype': 'int | str',
         'adz_shape': 'int | Sequence[int]', 'adz_dims': 'int | Sequence[int] | None',
         'adz_tensor_list': 'Sequence[Tensor]', 'adz_generator_state': 'tuple[int, int]', 'const char *': 'str',
         'const void *': 'bytes', 'const int64_t *': 'Sequence[int]', 'const double *': 'Sequence[float]',
         'const char *const *': 'Sequence[str]', 'const adz_text *': 'Sequence[str]',
         'const adz_named_tensor *': 'Any', 'adz_named_list': 'list[tuple[str, Tensor]]'}


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
        for name, required, value in f.python:
            type_ = self.type_of(types.get(name, types.get(back.get(name, ''), 'int')))
            yield name, type_ + (' | None' if value == 'None' and not required and 'None' not in type_ else ''), required

    def signature(self, f, method):
        parts, after = [], False
        for i, (name, type_, required) in enumerate(self.parameters(f)):
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
        outputs = first + ['list[Tensor]' if 'from_list' in o else 'Tensor' if 'from_tensor' in o else
                           'dict[str, Any]' if o.startswith('Py_BuildValue("{') else 'Any' for o in f.outputs]
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
                  '    def dtype(self) -> Any: ...', '    @property', '    def ndim(self) -> int: ...',
                  '    requires_grad: bool', '    grad: Tensor | None', '    @property',
                  '    def is_leaf(self) -> bool: ...', '    def item(self) -> Any: ...']
        for f in self.made.functions.values():
            if self.made.is_method(f):
                lines.append(f'    def {f.short.removeprefix("tensor_")}{self.signature(f, True)}: ...')
        lines.append('')
        for f in self.made.functions.values():
            lines.append(f'def {f.short}{self.signature(f, False)}: ...')
        return '\n'.join(lines) + '\n'


    def names_of(self, path):
        """What a file of the package imports and defines, as a stub says it."""
        lines = ['# Made by bindings/python/stubs.py.', 'from typing import Any']
        for node in ast.parse(path.read_text(encoding='utf-8')).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                named = [f'{a.name} as {a.asname or a.name}' for a in node.names if not (a.asname or a.name).startswith('_')]
                lines += [f'from {"." * node.level}{node.module or ""} import {", ".join(named)}'] if named else []
            elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple): # names that are made in a loop
                lines += [f'def {one.value}(input: Any, *args: Any, **options: Any) -> Any: ...'
                          for one in node.iter.elts if isinstance(one, ast.Constant)]
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
                lines.append(f'def {node.name}({ast.unparse(node.args)}) -> Any: ...')
            elif isinstance(node, ast.ClassDef):
                lines.append(f'class {node.name}({", ".join(ast.unparse(b) for b in node.bases)}): ...')
        return lines

    def package(self, folder):
        lines = self.names_of(folder / '__init__.py')
        known = ' '.join(lines)
        own = [f.short for f in self.made.functions.values() if f.f['header'].startswith('adze/ops/')]
        errors = [name.removeprefix('ADZ_ERR_').capitalize() + 'Error'
                  for name in self.table['enums']['adz_status']['values'] if name != 'ADZ_OK']
        lines += [f'from ._adze import {n} as {n}' for n in own + errors if f'def {n}(' not in known]
        return '\n'.join(lines) + '\n'

    def layers(self, folder):
        lines = self.names_of(folder / 'nn/__init__.py') + ['from collections.abc import Sequence',
                                                            'from .._adze import generator, module', 'from .._tensor import Tensor']
        by_short = {f.short: f for f in self.made.functions.values()}
        for pair in self.made.named('torch.nn.').strip('"').split():
            name, short = pair.split('=')
            if f'import {name} ' not in ' '.join(lines) and f' {name} as' not in ' '.join(lines):
                arguments = self.signature(by_short[short], False).split(') -> ')[0][1:].replace('module', 'Module')
                arguments += ', ' * bool(arguments) + '**options: Any'
                lines += [f'class {name}(Layer):', f'    def __init__(self, {arguments}) -> None: ...']
        return '\n'.join(lines) + '\n'


def main():
    stubs = Stubs(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')))
    write(sys.argv[4], getattr(stubs, sys.argv[3])(pathlib.Path(sys.argv[2])))


if __name__ == '__main__':
    main()
