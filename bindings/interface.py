#!/usr/bin/env python3
"""Writes adze.json, the table of the interface from which bindings for other languages are made.

    interface.py INCLUDE_DIR VERSION OUTPUT.json

The table comes from the headers and their comments. docs/fortran.md explains its members. What a reader
of C knows from the comments alone, such as how long an array is, is either derived from them or listed here.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tools'))
from headers import TAKEN, Headers, Unknown, split, words  # noqa: E402
from shelves import shelf_of  # noqa: E402

# Arrays whose length is not the parameter that counts the arrays before it: a sum of products of parameters, or
# in words what only a call can find out.
LENGTHS = {
    ('adz_autograd_grad', 'results'): 'n_inputs',
    ('adz_plan_run_batches', 'results'): 'adz_plan_result_count(plan)',
    ('adz_loader_next', 'batch'): 'the tensors of the dataset',
    ('adz_loader_get_rows', 'batch'): 'the tensors of the dataset',
    ('adz_vjp_many', 'gradients'): 'n', ('adz_vjp_many', 'vectors'): 'n_results',
    ('adz_hvp_many', 'vectors'): 'n', ('adz_jvp_many', 'derivatives'): 'n_results',
    ('adz_jacobian_many', 'jacobians'): 'n * n_results',
    ('adz_jacobian_rows_many', 'jacobians'): 'n * n_results',
    ('adz_hessian_many', 'hessians'): 'n * n', ('adz_hvp_many', 'products'): 'n',
    ('adz_dataset_split', 'parts'): 'n',
    ('adz_operator_call', 'more'): 'op->n_results - 1',
    ('adz_split', 'out'): 'room', ('adz_unbind', 'out'): 'room', ('adz_split_sizes', 'out'): 'n',
    ('adz_chunk', 'out'): 'chunks', ('adz_meshgrid', 'out'): 'n',
    ('adz_scan', 'results'): 'n_carries + n_results', ('adz_while', 'results'): 'n_carries',
    ('adz_branch', 'results'): 'n_results', ('adz_adam_express', 'results'): 'the results of the update',
    ('adz_odeint_event', 'found'): '2', ('adz_odeint_events', 'found'): '1 + 2 * n_events',
    ('adz_unpad_sequence', 'out'): 'n',
    ('adz_fastai_old_index', 'old_index'): 'n_new', ('adz_fastai_lr_range', 'rates'): 'n',
    ('adz_scheduler_get_state', 'values'): 'count', ('adz_tensor_at', 'index'): 'the rank of t',
    ('adz_shape_of', 'sizes'): 'rank', ('adz_dims_of', 'dims'): 'count',
}
# Parameters of these names receive several tensors, so each one's length stands in LENGTHS.
ARRAYS_OF_RESULTS = ('results', 'out', 'found', 'batch', 'parts', 'gradients')
# Numbers that count nothing although an array stands before them, or that must be said where it is left out.
NO_COUNTS = {('adz_vjp_many', 'n_results'), ('adz_plan_new_many', 'n_results')}
# The library keeps a pointer to these structs, so they live as long as what was made from them.
RETAINED = ('adz_module_type', 'adz_operator', 'adz_optimizer_type', 'adz_token_rules', 'adz_transport')
# The result points into these arrays.
POINTED_INTO = [('adz_tensor_list_of', 'items')]
ARRAY_OF = {'const int *', 'const int64_t *', 'const double *', 'const char *const *', 'const adz_text *',
            'const adz_named_tensor *'}
WRITTEN_NUMBERS = {'int64_t *', 'double *', 'size_t *', 'bool *', 'int *'}


def sections(comment):
    """The summary of a comment, and its parts by their marks: {'param x': text, 'return': text, ...}."""
    parts = re.split(r'^@(param\s+\w+|return|errors|see|grad|code|endcode)\b', comment, flags=re.M)
    found = {}
    for mark, text in zip(parts[1::2], parts[2::2]):
        found.setdefault(' '.join(mark.split()), words(text))
    return words(re.split(r'\n\s*\n', parts[0].strip())[0]), parts[0].strip(), found


def may_be_null(text):
    return bool(re.search(r'\bNULL\b', text)) and not re.search(r'not (be )?NULL', text)


def ownership(type_, text):
    """Who ends a result: the caller, the scope or another owner, or nobody."""
    if not type_.endswith('*') and type_ not in ('adz_tensor_list', 'adz_named_list', 'adz_text'):
        return 'none'
    return 'caller' if re.search(r'\byours\b', text) else 'borrowed'


class Interface:
    def __init__(self, folder, version):
        self.headers = h = Headers(folder)
        self.table = {
            'version': version, 'library': 'adze',
            'handles': {name: self.comment(name) for name in h.opaque},
            'constants': {name: self.number(value) for name, value in h.constants.items()},
            'enums': {name: self.enum(name) for name in h.enums},
            'callbacks': {name: self.callback(*h.callbacks[name], self.comment(name)) for name in h.callbacks},
            'structs': {name: self.struct(name) for name in h.structs if not name.endswith('_block')},
            'functions': {name: self.function(result, name, parameters)
                          for result, name, parameters in h.functions},
        }

    def comment(self, name):
        return self.headers.comments.get(name, '')

    def enum(self, name):
        values, number = {}, -1
        for value, text, comment in self.headers.values[name]:
            number = int(text) if text else number + 1
            values[value] = {'value': number, 'comment': comment}
        return {'comment': self.comment(name), 'values': values}

    def number(self, text):
        text = re.sub(r'\(size_t\)', '', text.strip())
        every = {v: n for e in self.headers.values for v, n, _ in self.headers.values[e]}
        known = {'NULL': None, 'true': True, 'false': False, 'INT64_MIN': -2**63}
        if text in known:
            return known[text]
        if text in every:
            return text
        if text in self.headers.constants:
            return self.number(self.headers.constants[text])
        if re.fullmatch(r'"[^"\\]*"', text):
            return text[1:-1]
        if re.fullmatch(r"'[^'\\]'", text):
            return ord(text[1:-1])
        if re.fullmatch(r'[\d.e()<+\- ]+', text):
            return eval(text) # noqa: S307: numbers, signs and shifts only
        raise Unknown(f'what is the value of "{text}"?')

    def initialiser(self, text):
        text = words(text)
        if text.startswith('{'):
            return [self.initialiser(part) for part in split(text[1:-1], ',')]
        return None if text.startswith('sizeof') else self.number(text)

    def defaults(self, name):
        """The value of each field in the macro of a struct, by the field's name."""
        macro = self.headers.defaults.get(name.upper())
        while macro is not None and not macro.startswith('{'):
            macro = self.headers.defaults[macro]
        if macro is None:
            return None
        members = [re.fullmatch(r'ADZ_MEMBER\((\w+), (.*)\)', part) for part in split(words(macro)[1:-1], ',')]
        if None in members:
            raise Unknown(f'the defaults of {name} have a value without the name of its field')
        if [m.group(1) for m in members] != [field for _, field in self.headers.structs[name]]:
            raise Unknown(f'the defaults of {name} are not its fields, in their order')
        return {m.group(1): self.initialiser(m.group(2)) for m in members}

    def struct(self, name):
        h, values = self.headers, self.defaults(name)
        fields = []
        for type_, field in h.structs[name]:
            other = h.aliases.get(name, name)
            made = {'name': field, 'type': type_, 'comment': h.field_comments.get(
                (name, field), h.field_comments.get((other, field), ''))}
            length = h.arrays.get((name, field))
            if length:
                made['length'] = int(h.constants.get(length, length))
            if values is not None and (type_, field) != ('size_t', 'size'):
                made['default'] = values[field]
            if '(*)' in type_:
                made['function'] = self.callback(*self.pointed(type_), '')
            fields.append(made)
        known = [f for _, f, _ in h.functions]
        return {'comment': self.comment(name), 'fields': fields, 'retained': name in RETAINED,
                'sized': h.structs[name][0] == ('size_t', 'size') and name != 'adz_text',
                'init': f'{name}_init' if f'{name}_init' in known else None}

    def pointed(self, type_):
        result, arguments = re.fullmatch(r'(.*?)\(\*\)\((.*)\)', type_).groups()
        found = []
        for argument in [] if words(arguments) in ('void', '') else split(arguments, ','):
            kind, name = re.fullmatch(r'(.*?)(\w+)', argument).groups()
            found.append((words(kind), name))
        return words(result), found

    def callback(self, result, parameters, comment):
        return {'comment': comment, 'result': result,
                'parameters': [{'name': n, 'type': t} for t, n in parameters]}

    def role(self, owner, type_, name, others):
        """What a parameter is for, as a caller in another language sees it."""
        h = self.headers
        to = re.fullmatch(r'(?:const )?(?:struct )?(\w+) \*', type_)
        to = to.group(1) if to else ''
        if type_ in h.callbacks or '(*' in type_:
            return 'callback'
        if (owner, name) in LENGTHS or type_ in ARRAY_OF or type_.endswith('*const *'):
            return 'array' if 'const' in type_ else 'results'
        if type_ == 'adz_tensor **' and name in ARRAYS_OF_RESULTS:
            raise Unknown(f'{owner}: how many tensors does "{name}" receive? (LENGTHS)')
        if type_.endswith('**'):
            return 'ended' if owner.endswith(('_free', '_release')) else 'result'
        if type_ in WRITTEN_NUMBERS:
            return 'result'
        if to == 'FILE':
            return 'stream'
        if to == 'void':
            return 'user' if name == 'user' else 'bytes' if name == 'bytes' else 'pointer'
        if type_ == 'char *':
            return 'buffer'
        if type_ == 'const char *':
            counted = name in ('bytes', 'text') and ('size_t', 'size') in others
            return 'text' if counted else 'string'
        if to in h.structs:
            return 'struct' if type_.startswith('const') else 'filled'
        if to in h.opaque:
            return 'handle'
        if type_.endswith('*'):
            raise Unknown(f'{owner}: what is "{type_} {name}" for?')
        return 'value'

    def counted(self, owner, parameters):
        """Marks the numbers that count arrays, texts, buffers and structs before or behind them."""
        waiting = []
        for p in parameters:
            number = p['type'] in ('size_t', 'int') and (owner, p['name']) not in NO_COUNTS
            if p['role'] in ('buffer', 'text', 'bytes') or p['role'] == 'array' and \
                    LENGTHS.get((owner, p['name']), 'x') in ('x', 'rank', 'count'):
                waiting.append(p)
            elif p['role'] == 'filled' and p is not parameters[-1] and re.search(r'_(init|get)(_|\Z)', owner):
                waiting.append(p)
            elif p['type'] == 'size_t' and number and waiting and p['name'] != 'room':
                p['role'], p['counts'] = 'count', [w['name'] for w in waiting]
                for w in waiting:
                    w['length'] = p['name']
                waiting = []
        for p in parameters:
            length = LENGTHS.get((owner, p['name']))
            if length:
                p['length'] = length
                for q in parameters:
                    if q['name'] == length and 'counts' not in q and (owner, q['name']) not in NO_COUNTS and \
                            q['name'] != 'chunks' and q['type'] in ('size_t', 'int'):
                        q['role'], q['counts'] = 'count', [p['name']]

    def function(self, result, name, parameters):
        summary, whole, found = sections(self.comment(name))
        made = []
        for type_, parameter in parameters:
            text = found.get('param ' + parameter, '')
            if 'reference is taken over' in text and parameter not in TAKEN.get(name, []):
                raise Unknown(f'{name}: the comment says that {parameter} is taken over, and TAKEN in tools/headers.py does not')
            made.append({'name': parameter, 'type': type_, 'comment': text,
                         'nullable': type_.endswith('*') and may_be_null(text) or '(*' in type_ and
                         may_be_null(text) or type_ in self.headers.callbacks and may_be_null(text),
                         'taken': parameter in TAKEN.get(name, []), 'retained': (name, parameter) in POINTED_INTO,
                         'role': self.role(name, type_, parameter, parameters)})
        self.counted(name, made)
        returned = found.get('return', '')
        said = returned + ' ' + found.get('errors', '')
        header = self.headers.headers[name]
        shelf = shelf_of(header)
        return {'header': header, 'library': 'adze-' + shelf if shelf else 'adze', 'summary': summary, 'comment': whole,
                'result': {'type': result, 'comment': returned, 'ownership': ownership(result, returned),
                           'nullable': result.endswith('*') and may_be_null(returned)},
                'parameters': made, 'errors': sorted(set(re.findall(r'ADZ_ERR_\w+', said))),
                'see': found.get('see')}


def write(path, text):
    """Replaces a file if its text is another, so that a build does not repeat what depends on it."""
    if not path.exists() or path.read_text(encoding='utf-8') != text:
        path.write_text(text, encoding='utf-8')


def main():
    table = Interface(pathlib.Path(sys.argv[1]), sys.argv[2]).table
    write(pathlib.Path(sys.argv[3]), json.dumps(table, indent=1) + '\n')


if __name__ == '__main__':
    try:
        main()
    except Unknown as reason:
        sys.exit(f'interface.py: {reason}')
