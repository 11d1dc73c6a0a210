#!/usr/bin/env python3
"""The table of operators in docs/operators.md, from the operators themselves.

    operators.py ADZE_OPERATORS TOP            fails when the table differs
    operators.py ADZE_OPERATORS TOP --write    renews it

ADZE_OPERATORS (tests/ops/table.c) calls every operator of the registry and says through which inputs
the tape carries gradients; names of arguments, families and in-place forms are the headers'.
"""
import pathlib
import re
import subprocess
import sys

FAMILIES = ['arithmetic', 'math', 'trigonometry', 'rounding', 'special', 'compare', 'activation', 'reduction',
            'linalg', 'decomposition', 'shape', 'index', 'order', 'embedding_bag', 'norm', 'conv', 'pool', 'unpool',
            'grid', 'attention', 'recurrent', 'dropout', 'loss', 'margin_loss', 'convert']
TITLES = {
    'arithmetic': 'Arithmetic', 'math': 'Mathematics', 'trigonometry': 'Trigonometry',
    'rounding': 'Rounding', 'special': 'Special functions', 'compare': 'Comparisons and choices',
    'activation': 'Activations', 'reduction': 'Reductions', 'linalg': 'Linear algebra',
    'decomposition': 'Solvers and factorisations',
    'shape': 'Shape', 'index': 'Indices', 'order': 'Order', 'embedding_bag': 'Bags of embeddings', 'norm': 'Normalisation', 'conv': 'Convolution', 'pool': 'Pooling',
    'unpool': 'Unpooling', 'grid': 'Sampling at positions',
    'attention': 'Attention', 'recurrent': 'Recurrence', 'dropout': 'Dropout', 'loss': 'Losses and distances',
    'margin_loss': 'Losses with a margin',
    'convert': 'Conversions',
}
# In-place forms that carry another name than their operator's.
INPLACE_OF = {'zero_': 'fill', 'add_number_': 'add', 'add_scaled_': 'add', 'sub_number_': 'sub',
              'sub_scaled_': 'sub', 'mul_number_': 'mul', 'div_number_': 'div'}
# Operators that have no public function of their own.
INTERNAL = {'gru_layer', 'linear_recurrence', 'lstm_layer', 'rnn_layer'}
# Tensors in structs of options that the samples give as text; they have no gradient.
WITHOUT_SAMPLES = {'lengths'}
# Operators whose gradient has no derivative.
FIRST_ORDER = {'ctc_loss'}
BEGIN, END = '<!-- operators -->\n', '<!-- /operators -->\n'


def fail(message):
    sys.exit(f'operators.py: {message}')


def prototypes(folder):
    """{function without adz_: (family, [names of tensor arguments, those in an options struct of the
    same header included; a list's ends in ...])}"""
    found = {}
    for family in FAMILIES:
        text = re.sub(r'/\*.*?\*/', '', (folder / f'{family}.h').read_text(), flags=re.S)
        within = {struct: re.findall(r'adz_tensor \*(\w+);', body) for struct, body in
                  re.findall(r'typedef struct (adz_\w+_options) \{(.*?)\}', text, flags=re.S)}
        for name, arguments in re.findall(r'ADZ_API [^;(]*?\badz_(\w+)\(([^;]*?)\);', text):
            tensors = []
            for argument in arguments.split(','):
                list_of = re.search(r'adz_tensor \*const \*(\w+)', argument)
                one = re.search(r'adz_tensor \*(\w+)', argument)
                if list_of:
                    tensors.append(list_of.group(1) + '...')
                elif one:
                    tensors.append(one.group(1))
                options = re.search(r'const (adz_\w+_options) \*', argument)
                fields = within.get(options.group(1), []) if options else []
                tensors += [field for field in fields if field not in WITHOUT_SAMPLES]
            found[name] = (family, tensors)
    return found


def gradient_of(operator, inputs, tensors):
    """The arguments through which gradients flow, by their names in the header."""
    flags = [word.endswith('=grad') for word in inputs]
    if len(tensors) < len(flags):
        many = [i for i, name in enumerate(tensors) if name.endswith('...')]
        if len(many) != 1:
            fail(f'{operator} has {len(flags)} inputs in its samples but the header names {tensors}')
        at, extra = many[0], len(flags) - len(tensors)
        flags[at:at + extra + 1] = [any(flags[at:at + extra + 1])]
    named = [name for name, flag in zip(tensors, flags) if flag]
    return ', '.join(named) if named else 'no gradient'


def table(tool, top):
    functions = prototypes(top / 'include/adze/ops')
    inplace = {}
    for name in functions:
        if name.endswith('_'):
            inplace.setdefault(INPLACE_OF.get(name, name[:-1]), []).append(name)
    rows = {family: [] for family in FAMILIES}
    differentiable = total = 0
    output = subprocess.run([tool], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        operator, kind, fused, inputs = line.split('\t')
        if operator in INTERNAL:
            continue
        forms = inplace.pop(operator, [])
        public = operator if operator in functions else forms[0] if forms else fail(
            f'no header declares adz_{operator}; list it as internal if that is meant')
        family, tensors = functions[public]
        gradient = gradient_of(operator, inputs.split(), tensors)
        gradient += ' (first order)' if operator in FIRST_ORDER else ''
        total += 1
        differentiable += gradient != 'no gradient'
        if gradient == 'no gradient':
            backward = ''
        elif kind == 'composed':
            backward = 'by parts'
        else:
            backward = 'yes' if fused == 'fused' else 'no'
        shown = ' '.join(f'`{form}`' for form in forms)
        first, second = (f'`{operator}`', shown) if public == operator else (shown, 'only')
        rows[family].append((operator, f'| {first} | {gradient} | {second} | {backward} |'))
    if inplace:
        fail(f'these in-place forms belong to no operator: {inplace}')
    lines = [f'{total} operators, {differentiable} of them differentiable, to any order '
             'where nothing else is said.', '',
             '| operator `adz_...` | gradient of | in place | fused backward |', '|---|---|---|---|']
    for family in FAMILIES:
        lines += [f'| **{TITLES[family]}** | | | |'] + [row for _, row in sorted(rows[family])]
    lines += ['']
    return '\n'.join(lines)


def main():
    tool, top = sys.argv[1], pathlib.Path(sys.argv[2])
    page = top / 'docs/operators.md'
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        fail(f'docs/operators.md needs one {BEGIN.strip()} and one {END.strip()}')
    before, rest = text.split(BEGIN)
    now, after = rest.split(END)
    wanted = table(tool, top)
    if '--write' in sys.argv[3:]:
        page.write_text(before + BEGIN + wanted + END + after)
    elif now != wanted:
        fail('The table in docs/operators.md is not what the operators are; renew it with\n'
             f'    python3 tests/checks/operators.py {tool} . --write')
    print(wanted.splitlines()[0])


main()
