#!/usr/bin/env python3
"""Writes the functions of the extension adze._adze, from adze.json.

    generate.py adze.json functions.c functions.h

One function of Python stands for one public function of the library. Its arguments are the function's, with those
of a struct of options as further ones; how each is converted follows from its role in adze.json.
"""
import json
import pathlib
import re
import sys

from function import Function, Skip, document, quoted, rest_of
from names import left_out


ENDS = ('free', 'release', 'close') # what functions that end an object are called


class Extension:
    def __init__(self, table):
        self.table, self.functions, self.skipped = table, {}, {}
        for name, f in table['functions'].items():
            why = left_out(name) # functions that call others are tried: some have conversions
            try:
                if why:
                    raise Skip(why)
                made = Function(table, name, f)
                made.returned()
                self.functions[name] = made
            except Skip as reason:
                self.skipped[name] = str(reason)

    def numbers(self, f):
        """Calls with a number instead of a tensor have functions of their own."""
        lines = []
        tensors = [i for i, p in enumerate(f.f['parameters']) if p['type'] == 'adz_tensor *']
        number = self.functions.get(f.name.removesuffix('_') + '_number' + ('_' if f.name.endswith('_') else ''))
        before = self.functions.get('adz_number_' + f.short)
        if len(tensors) == 2 and tensors == [0, 1] and len(f.python) == 2:
            if number and len(number.python) == 2:
                lines.append(f'if (adzp_is_number(v[1]) && !adzp_is_number(v[0])) return adzp_c_{number.short}(v);')
                if f.short in ('add', 'mul', 'eq', 'ne'):
                    lines.append(f'if (adzp_is_number(v[0])) return adzp_c_{number.short}((PyObject *[]){{ v[1], v[0] }});')
            if before:
                lines.append(f'if (adzp_is_number(v[0])) return adzp_c_{before.short}(v);')
        elif number and len(tensors) == 3 and len(f.python) == 3 and len(number.python) == 3:
            lines.append(f'if (adzp_is_number(v[2])) return adzp_c_{number.short}(v);')
        return lines

    def words(self):
        lines = []
        for name, enum in self.table['enums'].items():
            f = Function.__new__(Function)
            f.table = self.table
            rows = ', '.join(f'{{ "{f.word(name, value)}", {v["value"]} }}' for value, v in enum['values'].items())
            lines.append(f'static const adzp_word adzp_words_{name}[] __attribute__((unused)) = {{ {rows}, '
                         '{ NULL, 0 } };')
        return lines

    def end_of(self, name):
        """The function that ends an object of a kind, and sets the pointer to it to NULL; or None."""
        ends = (self.table['functions'].get(f'{name}_{e}') for e in ENDS)
        made = next((f'{name}_{e}' for e, f in zip(ENDS, ends) if f and f['parameters'][0]['type'].endswith('**')), None)
        return None if name == 'adz_tensor' else made

    def kinds(self):
        lines, known = [], self.table['functions']
        for name in self.table['handles']:
            end = self.end_of(name)
            if end:
                returns = known[end]['result']['type'] != 'void'
                lines.append(f'static void end_{name}(void **p) {{ {name} *o = *p; '
                             f'{"(void)" if returns else ""}{end}(&o); *p = o; }}')
            if f'{name}_keep' in known and name != 'adz_tensor':
                lines.append(f'static void *keep_{name}(void *p) {{ return {name}_keep(p); }}')
        lines.append('adzp_handle_kind adzp_kinds[] = {')
        for name, comment in self.table['handles'].items():
            keep = f'keep_{name}' if f'{name}_keep' in known and name != 'adz_tensor' else 'NULL'
            title = {'adz_tensor': 'tensor_handle'}.get(name, name[4:])
            lines.append(f'    {{ "adze._adze.{title}", {quoted(comment)}, {"end_" + name if self.end_of(name) else "NULL"}, '
                         f'{keep}, NULL }},')
        return lines + ['};', 'const size_t adzp_kind_count = sizeof adzp_kinds / sizeof *adzp_kinds;', '']

    def errors(self):
        lines = ['const adzp_status_name adzp_status_names[] = {']
        for name, v in self.table['enums']['adz_status']['values'].items():
            if name != 'ADZ_OK':
                word = name.removeprefix('ADZ_ERR_').capitalize() + 'Error'
                lines.append(f'    {{ {name}, "{word}", {quoted(v["comment"])} }},')
        return lines + ['};', 'const size_t adzp_status_count = sizeof adzp_status_names / sizeof *adzp_status_names;']

    def is_method(self, f):
        first = f.f['parameters'][0] if f.f['parameters'] else {'type': ''}
        own = f.f['header'].startswith('adze/ops/') or f.name in (
            'adz_requires_grad_', 'adz_retain_grad', 'adz_allclose', 'adz_equal', 'adz_tensor_stride',
            'adz_tensor_is_contiguous', 'adz_tensor_numel', 'adz_tensor_touch')
        return own and first['type'].endswith('adz_tensor *')

    def source(self):
        lines = ['/* Made from adze.json by bindings/python/generate.py. */', '#include "adzp.h"', '']
        lines += self.words() + [''] + self.kinds() + self.errors() + ['', 'static size_t room_of(adz_tensor *x, int dim)',
            '{', '    int64_t n = adz_tensor_rank(x) < 1 ? 1 : adz_tensor_size(x, dim);', '    adz_error_clear();',
            '    return n < 1 ? 1 : (size_t)n;', '}', '']
        for f in self.functions.values():
            names = ', '.join(f'"{n}"' for n, _, _ in f.python) or 'NULL'
            required = sum(1 << i for i, (_, needed, _) in enumerate(f.python) if needed)
            lines += [f'static const char *const names_{f.short}[] = {{ {names} }};',
                      f'static const adzp_signature signature_{f.short} = {{ "{f.short}", names_{f.short}, '
                      f'{len(f.python)}, {rest_of(f)}, {required}u }};', *f.body(self.numbers(f))]
            lines += self.entry(f, 'f', 0) + (self.entry(f, 't', 1) if self.is_method(f) else [])
        lines += self.tables() + self.lists()
        return '\n'.join(lines) + '\n'

    def entry(self, f, kind, first):
        n = len(f.python)
        return [f'static PyObject *{kind}_{f.short}(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)',
                '{', f'    PyObject *v[{n + 1}] = {{ {"self" if first else "NULL"} }}, *made = NULL;',
                '' if first else '    (void)self;',
                f'    if (adzp_bind(&signature_{f.short}, {first}, args, n, names, v)) {{',
                f'        made = adzp_c_{f.short}(v);', f'        Py_XDECREF(v[{n}]);', '    }', '    return made;', '}', '']

    def tables(self):
        flags = 'METH_FASTCALL | METH_KEYWORDS'
        lines = []
        for f in self.functions.values():
            lines.append(f'static const char doc_{f.short}[] = {quoted(document(f))};')
        lines.append('PyMethodDef adzp_functions[] = {')
        for f in self.functions.values():
            lines.append(f'    {{ "{f.short}", (PyCFunction)(void (*)(void))f_{f.short}, {flags}, doc_{f.short} }},')
        lines += ['    { NULL, NULL, 0, NULL } };', 'PyMethodDef adzp_tensor_methods[] = {']
        for f in self.functions.values():
            if self.is_method(f):
                name = f.short.removeprefix('tensor_')
                lines.append(f'    {{ "{name}", (PyCFunction)(void (*)(void))t_{f.short}, {flags}, doc_{f.short} }},')
        return lines + ['    { NULL, NULL, 0, NULL } };']

    def named(self, start):
        """Pairs "Linear=linear_new" of PyTorch's name and the function, for those that say so."""
        found = {}
        for f in self.functions.values():
            see = re.match(re.escape(start) + r'([A-Z]\w*)(?=$|[,;])', f.f['see'] or '')
            if see:
                found.setdefault(see.group(1), f.short)
        return quoted(' '.join(f'{n}={short}' for n, short in found.items()))

    def lists(self):
        """What the package makes its names of."""
        ops = ' '.join(f.short for f in self.functions.values() if f.f['header'].startswith('adze/ops/'))
        return [f'const char adzp_operators[] = {quoted(ops)};',
                f'const char adzp_layers[] = {self.named("torch.nn.")};',
                f'const char adzp_optimizers[] = {self.named("torch.optim.")};',
                f'const char adzp_schedulers[] = {self.named("torch.optim.lr_scheduler.")};']

    def header(self):
        lines = ['/* Made from adze.json by bindings/python/generate.py. */', '#ifndef ADZP_FUNCTIONS_H',
                 '#define ADZP_FUNCTIONS_H', 'enum {']
        lines += [f'    ADZP_{name},' for name in self.table['handles']] + ['    ADZP_KINDS', '};']
        lines += ['extern adzp_handle_kind adzp_kinds[];', 'extern const size_t adzp_kind_count;',
                  'extern const adzp_status_name adzp_status_names[];', 'extern const size_t adzp_status_count;',
                  'extern PyMethodDef adzp_functions[];',
                  'extern const char adzp_operators[], adzp_layers[], adzp_optimizers[], adzp_schedulers[];', 'extern PyMethodDef adzp_tensor_methods[];']
        lines += [f'PyObject *adzp_c_{f.short}(PyObject *const *v);' for f in self.functions.values()]
        return '\n'.join(lines + ['#endif', ''])


def write(path, text):
    path = pathlib.Path(path)
    if not path.exists() or path.read_text(encoding='utf-8') != text:
        path.write_text(text, encoding='utf-8')


def main():
    extension = Extension(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')))
    write(sys.argv[2], extension.source())
    write(sys.argv[3], extension.header())


if __name__ == '__main__':
    main()
