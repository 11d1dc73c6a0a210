#!/usr/bin/env python3
"""Calls of the Fortran module that must not compile: arrays of another rank or kind, other objects, other callbacks.

    wrong.py FOLDER COMPILER...

adze.mod lies somewhere below the folder.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = '''program wrong
  use adze
  use, intrinsic :: iso_c_binding
  implicit none
  type(adz_tensor) :: t
  type(adz_module) :: m
  integer(c_int) :: status
  real(c_double) :: x(2, 2)
  real(c_long_double) :: quad(2)
  complex(c_double) :: pairs(2)
  {}
contains
  function of_two(x, y) bind(C) result(z)
    type(c_ptr), value :: x, y
    type(c_ptr) :: z
    z = y
  end function
  function of_one(x) bind(C) result(z)
    type(c_ptr), value :: x
    type(c_ptr) :: z
    z = x
  end function
end program
'''
RIGHT = ['t = adz_tensor_from(x)', 't = adz_zeros([2, 2], ADZ_F32)', 't = adz_jacobian(of_two, x=t)',
         'status = adz_tensor_read(t, x)']
WRONG = ['t = adz_tensor_from(quad)', 't = adz_tensor_from(pairs)', "t = adz_tensor_from(['a'])",
         'status = adz_tensor_read(t, quad)', 'status = adz_tensor_write(t, pairs)',
         't = adz_zeros(2, ADZ_F32)', 't = adz_zeros(reshape([2, 2], [2, 1]), ADZ_F32)', 't = adz_zeros([2.0], ADZ_F32)',
         't = adz_cat(t, 0)', 't = adz_cat(reshape([t, t], [1, 2]), 0)', 't = adz_relu(m)', 't = adz_mul(t, 2d0)',
         't = adz_add_number(t, 2.0)', 't = adz_jacobian(of_one, x=t)', 'm = adz_linear_new(2, 2, adz_sgd_options())',
         'm = adz_linear_new(2, 2_c_int64_t)', 'status = adz_tensor_read(t, x + 1)']


def refused(statements, compiler, modules):
    """The statements of a program in which the compiler finds errors."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'wrong.f90'
        path.write_text(PROGRAM.format('\n  '.join(statements)))
        said = subprocess.run([*compiler, '-fsyntax-only', '-fmax-errors=0', f'-I{modules}', path], cwd=folder,
                              capture_output=True, text=True, check=False).stderr
        lines = path.read_text().split('\n')
    if 'Fatal Error' in said:
        sys.exit(said)
    return {lines[int(number) - 1].strip() for number in re.findall(r'wrong\.f90:(\d+):', said)}


def main():
    compiler = sys.argv[2:]
    modules = next(pathlib.Path(sys.argv[1]).resolve().rglob('adze.mod')).parent
    found = refused(RIGHT + WRONG, compiler, modules)
    wrong = refused(RIGHT, compiler, modules)
    for statement in wrong:
        print(f'does not compile: {statement}')
    for statement in set(WRONG) - found:
        print(f'compiles, but must not: {statement}')
    print(f'{len(WRONG)} wrong calls do not compile')
    return 1 if wrong or set(WRONG) - found else 0


if __name__ == '__main__':
    sys.exit(main())
