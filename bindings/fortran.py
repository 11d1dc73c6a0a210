#!/usr/bin/env python3
"""Writes adze.f90, the Fortran module of the library, from the table of its interface.

    fortran.py ADZE.json HEAD.f90 OUTPUT.f90

Every function gets an interface to C (raw_...) and a procedure under its C name, which takes what a Fortran
programmer has: logicals, character(*), arrays with a shape, optional arguments. HEAD.f90 is the part that is
written by hand. docs/fortran.md says what becomes of each type.
"""
import json
import pathlib
import re
import sys

from fortran_arrays import arrays
from fortran_procedures import NUMBERS, Procedure, literal, wrapped

class Fortran:
    def __init__(self, table):
        self.table = table
        self.procedures = [Procedure(self, name, f) for name, f in table['functions'].items()]

    def parameter(self, function, name):
        return next(p for p in self.table['functions'][function]['parameters'] if p['name'] == name)

    def by_value(self, type_):
        """The type of a number or a struct, as C has it."""
        if type_ in NUMBERS:
            return NUMBERS[type_]
        if type_ in self.table['enums']:
            return 'integer(c_int)'
        if type_ in self.table['callbacks'] or '(*)' in type_:
            return 'type(c_funptr)'
        return 'type(c_ptr)' if type_.endswith('*') else f'type({type_})'

    def field(self, struct, field):
        type_ = field['type']
        to = re.fullmatch(r'(\w+) \*', type_)
        handle = to and to.group(1) in self.table['handles']
        made = f'type({to.group(1)})' if handle else self.by_value(type_)
        length = f'({field["length"]})' if 'length' in field else ''
        value = field.get('default')
        if made == 'type(c_ptr)':
            start = ' = c_null_ptr'
        elif made == 'type(c_funptr)':
            start = ' = c_null_funptr'
        elif made.startswith('type('):
            start = '' # its fields have their values
        elif isinstance(value, str) and value in self.values:
            start = f' = {value}'
        else:
            start = ' = ' + literal(0 if value is None or isinstance(value, list) else value,
                                    'int' if type_ in self.table['enums'] else type_)
        return [f'    {made} :: {field["name"]}{length}{start} ! {field["comment"]}'[:128]]

    def types(self):
        lines = []
        for name, comment in self.table['handles'].items():
            lines += [f'  ! {first_sentence(comment)}', f'  type, bind(C) :: {name}',
                      '    type(c_ptr) :: p = c_null_ptr', f'  end type {name}', '']
        left = dict(self.table['structs'])
        while left: # a struct stands after those that it holds
            name = next(n for n, s in left.items() if not any(f['type'] in left for f in s['fields']))
            lines += [f'  ! {first_sentence(left[name]["comment"])}', f'  type, bind(C) :: {name}']
            for field in left.pop(name)['fields']:
                lines += self.field(name, field)
            lines += [f'  end type {name}', '']
        return lines

    def constants(self):
        lines = []
        for name, value in self.table['constants'].items():
            type_ = 'logical' if isinstance(value, bool) else 'double' if isinstance(value, float) else 'int64_t' \
                if abs(value) > 2**31 else 'int'
            made = '.true.' if value is True else '.false.' if value is False else literal(value, type_)
            lines.append(f'  {NUMBERS.get(type_, "logical")}, parameter :: {name} = {made}')
        lines.append('  integer(c_int), parameter :: ADZ_ALL_DIMS(0) = [integer(c_int) ::]')
        lines.append('  integer(c_int), parameter :: ADZ_SHAPE_SCALAR(0) = [integer(c_int) ::]')
        self.values = {}
        for name, enum in self.table['enums'].items():
            lines.append(f'  ! {name}: {first_sentence(enum["comment"])}'[:128])
            for value, about in enum['values'].items():
                self.values[value] = about['value']
                lines.append(f'  integer(c_int), parameter :: {value} = {about["value"]} ! {about["comment"]}'[:128])
        for name, struct in self.table['structs'].items():
            for f in struct['fields']:
                if isinstance(f.get('default'), str) and f['default'] not in self.values:
                    letters = ', '.join(f"'{c}'" for c in f['default'])
                    lines.append(f'  character(kind=c_char), target, save :: default_{f["name"]}'
                                 f'({len(f["default"]) + 1}) = [{letters}, c_null_char]')
        return lines + ['']

    def interface(self, name, label, result, parameters):
        """The interface of a C function, or of a function that C calls."""
        kind = 'subroutine' if result == 'void' else 'function'
        dummies = ', '.join(p['name'] for p in parameters)
        ends = '' if result == 'void' else ' result(adz_r)'
        lines = wrapped(f'{kind} {name}({dummies}) bind(C{label}){ends}', 4)
        lines.append('      import')
        for p in parameters:
            pointers = p['type'].endswith(('*const *', '**')) and not label
            made = 'type(c_ptr), intent(inout)' if pointers else self.by_value(p['type']) + ', value'
            lines.append(f'      {made} :: {p["name"]}{"(*)" if pointers else ""}')
        lines += [] if result == 'void' else [f'      {self.by_value(result)} :: adz_r']
        return lines + [f'    end {kind}']

    def raw(self, name, function):
        parameters = []
        for p in function['parameters']:
            ended = p['role'] == 'ended'
            parameters.append({'name': p['name'], 'type': 'ended' if ended else p['type']})
        lines = self.interface(f'raw_{name}', f", name='{name}'", function['result']['type'], parameters)
        return [line.replace('type(ended), value', 'type(c_ptr), intent(inout)') for line in lines]

    def callbacks(self):
        lines = ['  abstract interface']
        for name, c in self.table['callbacks'].items():
            lines += [f'    ! {first_sentence(c["comment"])}'] + self.interface(name, '', c['result'], c['parameters'])
        for name, struct in self.table['structs'].items():
            for field in struct['fields']:
                if 'function' in field:
                    lines += self.interface(f'{name}__{field["name"]}', '', field['function']['result'],
                                            field['function']['parameters'])
        deleter = [{'name': 'data', 'type': 'void *'}, {'name': 'user', 'type': 'void *'}]
        return lines + self.interface('adz_tensor_wrap__deleter', '', 'void', deleter) + ['  end interface', '']

    def associated(self):
        """adz_associated(t), for every type of object: whether it is not NULL."""
        lines = []
        for name in self.table['handles']:
            lines += [f'  logical function adzf_associated_{name[4:]}(object) result(yes)',
                      f'    type({name}), intent(in) :: object', '    yes = c_associated(object%p)',
                      '  end function', '']
        return lines, [f'adzf_associated_{name[4:]}' for name in self.table['handles']]

    def module(self, head):
        declarations, procedures = head.split('\ncontains\n', 1)
        bodies, generic = arrays()
        more, generic['adz_associated'] = self.associated()
        bodies += more
        lines = [declarations.rstrip(), ''] + self.constants() + self.types() + self.callbacks() + ['  interface']
        for name, function in self.table['functions'].items():
            lines += self.raw(name, function)
        lines += ['  end interface', '']
        for p in self.procedures:
            if p.wide or p.name in generic:
                both = ([f'{p.name}__4', f'{p.name}__8'] if p.wide else []) + generic.pop(p.name, [])
                lines.append(f'  interface {p.name}')
                lines += [f'    module procedure {one}' for one in both] + [f'  end interface {p.name}']
        for name, both in generic.items():
            lines += [f'  interface {name}'] + [f'    module procedure {one}' for one in both] + ['  end interface']
        public = [f'  public :: {name}' for name in self.public(generic)]
        lines += public + ['', 'contains', '', procedures.rstrip().removesuffix('end module adze').rstrip(), '']
        for p in self.procedures:
            lines += p.written()
        return '\n'.join(lines + bodies + ['end module adze', ''])

    def public(self, generic):
        t = self.table
        fields = [f'{n}__{f["name"]}' for n, s in t['structs'].items() for f in s['fields'] if 'function' in f]
        return (list(t['constants']) + ['ADZ_ALL_DIMS', 'ADZ_SHAPE_SCALAR'] + list(self.values) + list(t['handles']) +
                list(t['structs']) + list(t['callbacks']) + fields + ['adz_tensor_wrap__deleter'] +
                list(t['functions']) + list(generic))


def first_sentence(comment):
    return re.split(r'(?<=\.)\s', ' '.join(comment.split()) + ' ')[0][:110]


def main():
    table = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8'))
    text = Fortran(table).module(pathlib.Path(sys.argv[2]).read_text(encoding='utf-8'))
    output = pathlib.Path(sys.argv[3])
    if not output.exists() or output.read_text(encoding='utf-8') != text:
        output.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
