#!/usr/bin/env python3
"""Writes a program that compares the defaults of each option type in adze.f90 with those of its C function.

    defaults.py ADZE.json OUTPUT.f90

The C function fills the struct as C lays it out, so a component of another type or at another position differs.
"""
import json
import pathlib
import sys


def compared(name, field, table):
    type_, at = field['type'], field['name']
    if type_ == 'bool':
        return f'a%{at} .eqv. b%{at}'
    if '(*)' in type_ or type_ in table['callbacks']:
        return f'.not. c_associated(a%{at}) .and. .not. c_associated(b%{at})'
    if type_.endswith('*'):
        if isinstance(field.get('default'), str): # NULL stands for it in Fortran
            return f"adz_string(a%{at}) == '{field['default']}' .and. .not. c_associated(b%{at})"
        p = '%p' if type_.split()[0] in table['handles'] and type_.count('*') == 1 and 'const' not in type_ else ''
        return f'.not. c_associated(a%{at}{p}) .and. .not. c_associated(b%{at}{p})'
    if type_ == 'adz_shape':
        return f'a%{at}%rank == b%{at}%rank .and. all(a%{at}%sizes == b%{at}%sizes)'
    if type_ == 'adz_tensor_list':
        return f'a%{at}%count == b%{at}%count'
    return f'a%{at} == b%{at}'


def main():
    table = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8'))
    lines, calls = [], []
    for name, struct in table['structs'].items():
        init = struct['init'] and table['functions'][struct['init']]
        if not init or len(init['parameters']) != 2:
            continue
        calls.append(f'  call check_{name[4:]}()')
        lines += [f'  subroutine check_{name[4:]}()', f'    type({name}) :: a, b', f'    call {struct["init"]}(a)',
                  "    if (a%size /= c_sizeof(a)) call wrong('" + name + "', 'size')"]
        for field in struct['fields'][1:]:
            lines += [f'    if (.not. ({compared(name, field, table)})) &',
                      f"      call wrong('{name}', '{field['name']}')"]
        lines.append('  end subroutine')
    text = ['program defaults', '  use adze', '  use, intrinsic :: iso_c_binding', '  implicit none',
            '  integer :: failures = 0', *calls, '  if (failures > 0) stop 1',
            f"  print '(a)', '{len(calls)} types have the defaults of C'", 'contains',
            '  subroutine wrong(type_, field)', '    character(*), intent(in) :: type_, field',
            "    print '(5a)', type_, '%', field, ' differs from C'", '    failures = failures + 1',
            '  end subroutine', *lines, 'end program', '']
    pathlib.Path(sys.argv[2]).write_text('\n'.join(text), encoding='utf-8')


if __name__ == '__main__':
    main()
