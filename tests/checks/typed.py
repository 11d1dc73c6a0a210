#!/usr/bin/env python3
"""adz_tensor_from takes arrays whose elements have the dtype, and no others, as adze/typed.h says.

    typed.py INCLUDE_DIR INCLUDE_DIR_OF_BUILD

Compiles calls with each compiler and standard that is here, and one by one if they must be refused. A call that must be refused is
accepted where the compiler knows no C11, and in C++.
"""
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import tempfile

HEAD = """#include <adze/adze.h>
void call(adz_dtype any, const void *raw, size_t n);
void call(adz_dtype any, const void *raw, size_t n)
{
    float f[4] = { 0 };
    double d[2][3] = { { 0 } };
    long l[2] = { 0 };
    long long ll[2] = { 0 };
    int k[2] = { 0 };
    unsigned char u[2] = { 0 };
    char c[2] = { 0 };
    uint16_t h[2] = { 0 };
    bool b[2] = { 0 };
    size_t z[2] = { n };
    const adz_dtype fixed = ADZ_F32;
    adz_shape s = ADZ_SHAPE(2);
    (void)f, (void)d, (void)l, (void)ll, (void)k, (void)u, (void)c, (void)h, (void)b, (void)z, (void)fixed, (void)s;
    (void)any, (void)raw;
"""
LONG = ', '.join(str(i) for i in range(64))
TAKEN = [
    'f, s, ADZ_F32', '&f[1], s, ADZ_F32', 'any ? f : f + 1, s, ADZ_F32', '(const float *)f, s, ADZ_F32',
    'd, ADZ_SHAPE(2, 3), ADZ_F64', 'd[1], ADZ_SHAPE(3), ADZ_F64', 'll, s, ADZ_I64', 'k, s, ADZ_I32',
    'u, s, ADZ_U8', 'u, s, ADZ_BOOL', 'c, s, ADZ_U8', 'b, s, ADZ_BOOL', 'h, s, ADZ_F16', 'h, s, ADZ_BF16',
    'raw, s, ADZ_F64', 'raw, s, any', 'f, s, any', 'd[0], s, fixed', '(void *)k, s, ADZ_F32', 'NULL, ADZ_SHAPE(0), ADZ_F32',
] + (['l, s, ADZ_I64'] if sys.maxsize > 2 ** 32 else [])
LITERALS = [
    '(float[]){ 1 }, ADZ_SHAPE(1), ADZ_F32', '(double[]){ 1, 2, 3 }, ADZ_SHAPE(3), ADZ_F64',
    '(double[]){ d[0][1], 2 + d[1][0] }, ADZ_SHAPE(2), ADZ_F64',
    '(float[2][2]){ { 1, 2 }, { 3, 4 } }, ADZ_SHAPE(2, 2), ADZ_F32',
    '(double[]){ %s }, ADZ_SHAPE(64), ADZ_F64' % LONG, '(double[]){ %s, 64 }, ADZ_SHAPE(65), ADZ_F64' % LONG,
    '(double[]){ %s, %s, (1), (2) }, ADZ_SHAPE(130), ADZ_F64' % (LONG, LONG),
]
REFUSED = [
    'f, s, ADZ_F64', 'd, s, ADZ_F32', 'd[0], s, ADZ_F32', 'k, s, ADZ_I64', 'k, s, ADZ_F32', 'll, s, ADZ_F64', 'h, s, ADZ_F32',
    'u, s, ADZ_F32', 'c, s, ADZ_I32', 'b, s, ADZ_F32', 'z, s, ADZ_I64', '&n, s, ADZ_I64', '(const float *)f, s, ADZ_BOOL',
    '(double[]){ 1, 2 }, ADZ_SHAPE(2), ADZ_F32', '(int[]){ 1, 2 }, ADZ_SHAPE(2), ADZ_F32',
    '(float[2][2]){ { 1, 2 }, { 3, 4 } }, ADZ_SHAPE(2, 2), ADZ_F64', '(double[]){ %s }, ADZ_SHAPE(64), ADZ_F32' % LONG,
]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror']
# (compiler, flags, whether it is C, whether it refuses)
COMPILERS = [('gcc', ['-std=c11'], True, True), ('gcc', ['-std=c11', '-O2'], True, True),
             ('gcc', ['-std=gnu2x', '-DADZ_SITES'], True, True), ('gcc', ['-std=c99'], True, False),
             ('clang', ['-std=c11', '-O2'], True, True), ('g++', ['-std=c++17'], False, False)]


def compiles(folder, folders, number, compiler, flags, is_c, calls):
    source = folder / f'{number}.{"c" if is_c else "cpp"}'
    body = ''.join(f'    adz_tensor_from({call});\n' for call in calls)
    source.write_text(f'{HEAD}{body}}}\n')
    done = subprocess.run([compiler, *flags, *WARNINGS, *[f'-I{f}' for f in folders], '-fsyntax-only', source],
                          capture_output=True, text=True)
    return done.returncode == 0, done.stderr


def main():
    wrong, tried, folders = [], 0, sys.argv[1:]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = []
        for compiler, flags, is_c, refuses in COMPILERS:
            if shutil.which(compiler) is None:
                continue
            refused = [c for c in REFUSED if is_c or '){' not in c]
            taken = TAKEN + (LITERALS if is_c else []) + ([] if refuses else refused)
            for calls in [taken] + [[c] for c in refused if refuses]:
                job = pool.submit(compiles, pathlib.Path(name), folders, len(jobs), compiler, flags, is_c, calls)
                jobs.append((job, compiler, flags, calls, calls is taken))
        for job, compiler, flags, calls, taken in jobs:
            good, said = job.result()
            tried += len(calls)
            if good != taken or (not good and 'elements of another type than the dtype' not in said):
                wrong.append(f'{compiler} {" ".join(flags)}: {"; ".join(calls)[:300]} was {"taken" if good else "refused"}\n{said[:600]}')
    print('\n'.join(wrong) if wrong else f'{tried} calls are taken or refused as they should be')
    return 1 if wrong or tried == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
