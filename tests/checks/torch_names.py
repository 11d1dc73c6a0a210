#!/usr/bin/env python3
"""The page docs/pytorch.md: every public name of PyTorch's networks, optimizers, linear algebra and tensors, with what adze has for it.

    torch_names.py ADZE_JSON TOP            fails when a name has neither a counterpart nor a reason, or the page differs
    torch_names.py ADZE_JSON TOP --write    renews the page
    torch_names.py ADZE_JSON TOP --notices  plants one fault of each class and fails when it is not noticed
    torch_names.py --list TOP               renews the names in tests/checks/torch_names.txt; needs PyTorch

A function of adze is a counterpart of the names that its comment gives after "@see", which adze.json carries. torch_names.txt
lists the names. A line says more only where no function names PyTorch's:

    torch.Tensor.absolute = torch.Tensor.abs          another name of the same thing
    torch.Tensor.mv : adz_matmul                      how it is written with what there is; functions named here exist
    torch.Tensor.angle - complex                      why there is none: a key of REASONS, or words
"""
import json
import pathlib
import re
import sys

LIST, PAGE = 'tests/checks/torch_names.txt', 'docs/pytorch.md'
BEGIN, END = '<!-- names -->\n', '<!-- /names -->\n'
TITLES = {'torch.nn': 'Modules', 'torch.nn.functional': 'Functions of networks', 'torch.optim': 'Optimizers',
          'torch.optim.lr_scheduler': 'Schedules', 'torch.optim.swa_utils': 'Averaged weights',
          'torch.linalg': 'Linear algebra', 'torch.Tensor': 'Tensors'}
REASONS = {
    'complex': 'later: adze has no complex tensors',
    'device': 'no: tensors live in the memory of the processor',
    'sparse': 'later: adze has no sparse tensors',
    'quantised': 'later: adze has no quantised tensors',
    'fourier': 'later: adze has no Fourier transforms',
    'lazy': 'no: sizes are given when a module is made',
    'nested': 'no: sequences of several lengths are padded',
    'python': 'no: a protocol of Python',
    'deprecated': 'no: deprecated in PyTorch',
    'storage': 'no: a tensor does not show the memory that it shares',
}
# Where a function may be named that is the method, function or composition of the same name.
SAME = {'torch.Tensor': ['torch.Tensor', 'torch', 'torch.linalg', 'torch.nn.functional', 'torch.special'],
        'torch.nn.functional': ['torch.nn.functional', 'torch'], 'torch.linalg': ['torch.linalg', 'torch']}


def fail(message):
    raise SystemExit(f'torch_names.py: {message}')


def public_names():
    """{namespace: names} of the PyTorch that is installed."""
    import inspect
    import torch

    def functions(module):
        made = [name for name in dir(module) if not name.startswith('_') and callable(getattr(module, name))]
        return [name for name in made if inspect.isroutine(getattr(module, name)) and 'torch_function' not in name]

    linalg = [name for name in dir(torch.linalg) if not name.startswith('_') and callable(getattr(torch.linalg, name))]
    optimizers = [n for n in torch.optim.__all__ if n[0].isupper()]
    modules = torch.nn.modules.__all__ + ['Buffer', 'DataParallel', 'Parameter', 'UninitializedBuffer', 'UninitializedParameter']
    methods = [name for name in dir(torch.Tensor) if not name.startswith('_')]
    internal = {'assert_int_or_pair', 'boolean_dispatch'}
    found = {'torch.nn': modules, 'torch.nn.functional': set(functions(torch.nn.functional)) - internal,
             'torch.optim': optimizers, 'torch.optim.lr_scheduler': torch.optim.lr_scheduler.__all__,
             'torch.optim.swa_utils': torch.optim.swa_utils.__all__, 'torch.linalg': linalg, 'torch.Tensor': methods}
    return {space: sorted(names) for space, names in found.items()}


def read_list(path):
    """{name: (sign, words)}; sign is '', '=', ':' or '-'."""
    entries = {}
    for line in path.read_text().splitlines():
        if not line or line.startswith('#'):
            continue
        match = re.fullmatch(r'(\S+)(?:\s+([=:-])\s+(.+))?', line)
        if not match or match[1] in entries:
            fail(f'{LIST}: cannot read "{line}", or its name is there twice')
        entries[match[1]] = (match[2] or '', match[3] or '')
    return entries


def renew_list(top):
    path = top / LIST
    old = read_list(path) if path.exists() else {}
    import torch
    lines = [f'# Public names of PyTorch {torch.__version__.split("+")[0]}. tests/checks/torch_names.py explains the signs.']
    for space, names in public_names().items():
        for name in names:
            sign, words = old.get(f'{space}.{name}', ('', ''))
            lines.append(f'{space}.{name}' + (f' {sign} {words}' if sign else ''))
    path.write_text('\n'.join(lines) + '\n')


def split(name):
    space = max((space for space in TITLES if name.startswith(space + '.')), key=len, default=None)
    if not space:
        fail(f'{LIST}: {name} is in none of {", ".join(TITLES)}')
    return space, name[len(space) + 1:]


class Names:
    """What adze has, by PyTorch's names."""

    def __init__(self, table, entries):
        self.known = set(table['functions']) | set(table['structs']) | set(table.get('constants', {}))
        self.known |= set(table.get('handles', {})) | set(table['enums'])
        self.known |= {value for enum in table['enums'].values() for value in enum['values']}
        self.entries, self.seen = entries, {}
        for function, entry in sorted(table['functions'].items()):
            for name in re.findall(r'torch\.[\w.]*\w', entry.get('see') or ''):
                self.seen.setdefault(name, []).append(function)

    def functions(self, name):
        space, last = split(name)
        places = SAME.get(space, [space])
        found = [f for place in places for f in self.seen.get(f'{place}.{last}', [])]
        return sorted(set(found), key=lambda f: (len(f), f))

    def text(self, name):
        """The cell of the page, or None if nothing is known."""
        sign, words = self.entries[name]
        found = self.functions(name)
        if sign and found:
            fail(f'{LIST}: {name} has a counterpart, {found[0]}: remove what follows the name')
        if found:
            return ', '.join(f'`{f}`' for f in found)
        if sign == '=':
            if words not in self.entries:
                fail(f'{LIST}: {name} is said to be {words}, which is not in the list')
            return self.text(words)
        if sign == ':':
            for function in re.findall(r'\badz_\w+|\bADZ_\w+', words):
                if function not in self.known:
                    fail(f'{LIST}: {name} names {function}, which does not exist')
            return re.sub(r'\b(adz_\w+|ADZ_\w+)', r'`\1`', words)
        if sign == '-':
            return REASONS.get(words, words)
        base = name[:-1]
        if name.endswith('_') and base in self.entries:
            plain = self.text(base)
            if plain and self.entries[base][0] != '-' and plain.startswith('`'):
                return f'{plain.split(", ")[0]}, then `adz_copy_`'
            return plain
        return None


def page(names):
    rows, missing, counts = [], [], {}
    spaces = {}
    for name in names.entries:
        space, last = split(name)
        text = names.text(name)
        if text is None:
            missing.append(name)
        none = text is None or text.startswith(('no: ', 'later: '))
        have, total = counts.get(space, (0, 0))
        counts[space] = (have + (not none), total + 1)
        spaces.setdefault(space, []).append(f'| `{last}` | {text} |\n')
    if missing:
        fail(f'{len(missing)} names have neither a counterpart nor a reason in {LIST}: ' + ' '.join(missing))
    for space, lines in spaces.items():
        have, total = counts[space]
        rows.append(f'\n## {TITLES[space]}: `{space}`\n\n{have} of {total} names have a counterpart.\n\n| PyTorch | adze |\n|---|---|\n')
        rows += lines
    return ''.join(rows)


PLANTED = {  # a line of the list, and words of the message about it
    'torch.nn.Planted': 'torch.nn.Planted',
    'torch.nn.Planted : adz_planted_new': 'adz_planted_new, which does not exist',
    'torch.nn.Planted = torch.nn.Plant': 'torch.nn.Plant, which is not in the list',
    'torch.nn.Linear - python': 'torch.nn.Linear has a counterpart',
}


def notices(table, entries):
    for line, message in PLANTED.items():
        name, sign, words = (line.split(' ', 2) + ['', ''])[:3]
        try:
            page(Names(table, {**entries, name: (sign, words)}))
        except SystemExit as error:
            if message in str(error):
                continue
        fail(f'planted, and not found: {line}')


def main(arguments):
    if arguments[:1] == ['--list'] and len(arguments) == 2:
        return renew_list(pathlib.Path(arguments[1]))
    if len(arguments) < 2 or arguments[2:] not in ([], ['--write'], ['--notices']):
        fail('usage: torch_names.py ADZE_JSON TOP [--write | --notices]')
    top = pathlib.Path(arguments[1])
    entries = read_list(top / LIST)
    if len(entries) < 900:
        fail(f'{LIST} has only {len(entries)} names')
    table = json.loads(pathlib.Path(arguments[0]).read_text())
    if arguments[2:] == ['--notices']:
        return notices(table, entries)
    body = page(Names(table, entries))
    path = top / PAGE
    text = path.read_text()
    head, rest = text.split(BEGIN)
    new = head + BEGIN + body + END + rest.split(END)[1]
    if arguments[2:] == ['--write']:
        path.write_text(new)
    elif new != text:
        fail(f'{PAGE} is not what adze.json and {LIST} say; run this script with --write')


if __name__ == '__main__':
    main(sys.argv[1:])
