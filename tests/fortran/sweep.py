#!/usr/bin/env python3
"""Writes a program that calls every procedure of the Fortran module with NULL objects, zeros and empty arrays.

    sweep.py ADZE.json OUTPUT.f90

A procedure that passes its arguments to C in another order or size crashes, or succeeds where it must fail: a
call with an object that must not be NULL has to record an error. Procedures that take a callback are not called.
"""
import json
import pathlib
import sys

# Functions that are not called, each with its reason.
NOT_CALLED = {
    'adz_die': 'it ends the program',
    'adz_error_clear': 'it ends the error that is looked for', 'adz_error_take': 'as adz_error_clear',
    'adz_report_alive': 'it prints', 'adz_tensor_print': 'it prints NULL',
    'adz_adam_f32': 'a kernel, which reads arrays that only the step of an optimizer has',
    'adz_moment_power': 'there is a context only in the step of an optimizer',
    'adz_adam_f64': 'as adz_adam_f32', 'adz_ada_belief_f32': 'as adz_adam_f32', 'adz_ada_belief_f64': 'as adz_adam_f32',
}
VALUES = {'bool': '.false.', 'double': '0d0', 'adz_shape': 'wides', 'adz_dims': 'dims', 'adz_text': "''",
          'adz_tensor_list': 'none_of_tensor'}
# Variables that receive a number through a pointer.
RESULTS = {'int64_t': 'wide', 'size_t': 'wide', 'double': 'number', 'int': 'small', 'bool': 'flag'}


def argument(p, table, used):
    """The actual argument, or None where a procedure would be needed."""
    type_, role = p['type'], p['role']
    to = type_.replace('const ', '').split()[0]
    if role == 'callback':
        return None
    if role == 'value':
        if type_ in VALUES:
            used.add('adz_tensor' if type_ == 'adz_tensor_list' else '')
            return VALUES[type_]
        if type_ in table['structs']:
            used.add(type_)
            return f'one_{type_[4:]}'
        return '0'
    if role in ('array', 'results'):
        if to == 'char' or to == 'adz_text':
            return 'words'
        if to in ('int64_t', 'double', 'int'):
            return {'int64_t': 'wides8' if role == 'results' else 'wides', 'double': 'reals', 'int': 'dims'}[to]
        used.add(to)
        return f'none_of_{to[4:]}'
    if role == 'result' and to in RESULTS:
        return RESULTS[to]
    if role in ('string', 'text'):
        return "'x'"
    if role in ('buffer', 'bytes', 'pointer', 'user', 'stream'):
        return {'buffer': 'buffer', 'bytes': 'bytes', 'stream': "'/dev/null'"}.get(role, 'c_null_ptr')
    used.add(to)
    return f'one_{to[4:]}'


def result(type_, name, table, used):
    """The variable that takes a result; None for a subroutine."""
    to = type_.replace('const ', '').split()[0]
    if type_ == 'void':
        return None
    if type_ in ('const char *', 'adz_text'):
        return 'text'
    if type_.endswith('*'):
        if to not in table['handles']:
            return 'pointer'
        used.add(to)
        return f'got_{to[4:]}'
    kept = {'adz_shape': ('adz_shape_of', 'sizes'), 'adz_tensor_list': ('adz_tensor_list_of', 'tensors'),
            'adz_named_list': ('', 'named'), 'bool': ('', 'yes'), 'double': ('', 'number'), 'int64_t': ('', 'wide'),
            'uint64_t': ('', 'wide'), 'size_t': ('', 'wide')}
    if type_ in kept and name != kept[type_][0]:
        return kept[type_][1]
    if type_ in table['structs']:
        used.add(type_)
        return f'got_{type_[4:]}'
    return 'whole'


def call(name, function, table, used):
    arguments = [argument(p, table, used) for p in function['parameters'] if p['role'] != 'count']
    if None in arguments or name in NOT_CALLED:
        return None
    text = f'{name}({", ".join(arguments)})'
    variable = result(function['result']['type'], name, table, used)
    text = f'{variable} = {text}' if variable else f'call {text}'
    must = any(p['role'] == 'handle' and not p['nullable'] for p in function['parameters']) and \
        'ADZ_ERR_NULL' in function['errors']
    return [f'  {part}' for part in cut(text)] + [f"  call after('{name}', {'.true.' if must else '.false.'})"]


def cut(text):
    lines = []
    while len(text) > 110:
        at = text.rfind(', ', 0, 110) + 2
        lines.append(text[:at] + '&')
        text = '  ' + text[at:]
    return [*lines, text]


DECLARED = """  integer(c_int) :: wides(0), dims(0), whole
  integer(c_int64_t) :: wide, wides8(0)
  integer(c_int64_t), allocatable :: sizes(:)
  integer(c_int8_t) :: bytes(0)
  real(c_double) :: number, reals(0)
  integer(c_int) :: small
  logical(c_bool) :: flag
  logical :: yes
  character(4) :: words(0), buffer
  character(:), allocatable :: text
  type(adz_tensor), allocatable :: tensors(:)
  type(adz_named_tensor), allocatable :: named(:)
  type(c_ptr) :: pointer
  integer :: failures = 0, calls = 0, errors = 0"""
AFTER = """contains
  subroutine after(name, must)
    character(*), intent(in) :: name
    logical, intent(in) :: must
    calls = calls + 1
    if (adz_error_code() /= ADZ_OK) errors = errors + 1
    if (must .and. adz_error_code() == ADZ_OK) then
      failures = failures + 1
      print '(2a)', name, ' takes NULL without an error'
    end if
    call adz_error_clear()
    ! Networks of the default sizes take long to fill.
    if (adz_set_memory_limit(1000000) /= ADZ_OK) failures = failures + 1
  end subroutine
end program"""


def main():
    table = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8'))
    used, lines = set(), []
    for name, function in table['functions'].items():
        lines += call(name, function, table, used) or []
    declared = [f'  type({t}), target :: {kind}{t[4:]}{size}' for t in sorted(used - {''})
                for kind, size in (('one_', ''), ('got_', ''), ('none_of_', '(0)'))]
    end = ["  print '(i0, a, i0, a)', calls, ' procedures, ', errors, ' of which refused NULL or zeros'",
           '  if (failures > 0) stop 1']
    text = ['program sweep', '  use adze', '  use, intrinsic :: iso_c_binding', '  implicit none', DECLARED,
            *declared, *lines, *end, AFTER, '']
    pathlib.Path(sys.argv[2]).write_text('\n'.join(text), encoding='utf-8')


if __name__ == '__main__':
    main()
