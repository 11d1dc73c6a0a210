#!/usr/bin/env python3
"""Checks the names of the interface against the rules of docs/design.md, "Names of the interface".

    interface_names.py ADZE.json CHANGELOG.md   the table of the interface, and the page with the table of new names
    interface_names.py ADZE.json --notices      plants a name against each rule, and passes if each is found
"""
import copy
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / 'tools'))
from rename import TABLE, read_table  # noqa: E402

# Names that a rule would change, each with its reason.
EXCEPTIONS = {
    'adz_module_numel': 'the module keeps the list that it makes',
    'adz_values_argument': 'an argument is found by position or by name',
    'adz_node_needs_input_grad': 'ctx.needs_input_grad in PyTorch',
    'adz_tensor_size': 'Tensor.size in PyTorch',
    'adz_tensor_rank': 'one word in every language',
    'adz_group_rank': 'rank and size are the words of MPI and torch.distributed',
    'adz_group_size': 'rank and size are the words of MPI and torch.distributed',
    'adz_scheduler_last_epoch': 'last_epoch in PyTorch',
    'adz_tokenizer_token': 'an id is no position: a vocabulary may have gaps',
    'adz_gguf_text': 'its sisters are called by their kinds: adz_gguf_integer, adz_gguf_real, adz_gguf_bool',
    'adz_item_i64': 'Tensor.item in PyTorch',
    'adz_pretrained_max_positions': 'max_position_embeddings in transformers',
    'adz_pretrained_max_seq_length': 'max_seq_length in sentence-transformers',
    'adz_requires_grad_': 'Tensor.requires_grad_ in PyTorch',
    'adz_data_parallel_no_sync': 'no_sync in PyTorch',
    'adz_lbfgs_set_scale': 'the optimizer borrows what the program has',
    'adz_levenberg_marquardt_set_bounds': 'the optimizer borrows what the program has',
    'adz_set_hook_end': 'a hook has one end, which its owner knows',
    'adz_darts_set_mc_dropout': 'it sets several layers',
}
NUMBERS = ('int', 'int64_t', 'uint64_t', 'size_t')
# Words that may end a function that says how much or how many.
SIZES = ('_count', '_numel', '_bytes', '_bytes_sent')


def ends(name):
    """The functions that end an object."""
    return name.endswith(('_free', '_release'))


def stem(name, word):
    return name[:-len(word)]


def object_of(table, f):
    """The type of the object that a function is called for, or None."""
    first = f['parameters'][0]['type'] if f['parameters'] else ''
    found = re.fullmatch(r'(?:const )?(\w+) \*', first)
    return found.group(1) if found and found.group(1) in table['handles'] else None


def check_ends(table, name, f):
    functions = table['functions']
    if name.endswith('_keep') and stem(name, '_keep') + '_release' not in functions:
        yield 'what has _keep is ended by _release'
    if name.endswith('_release') and stem(name, '_release') + '_keep' not in functions:
        yield 'what has no _keep is ended by _free'
    if any(p['role'] == 'ended' for p in f['parameters']) and not ends(name):
        yield 'what ends an object is called _free or _release'


def check_look_ups(table, name, f):
    parameters = f['parameters']
    if object_of(table, f) is None or len(parameters) < 2:
        return
    last = parameters[-1]
    gives = f['result']['type'] != 'void' and not f['result']['type'].startswith(('adz_status', 'bool'))
    if gives and last['type'] == 'size_t' and last['name'] in ('index', 'i', 'k') and not name.endswith('_at'):
        yield 'a look-up by position is called _at'
    if name.endswith('_find'):
        yield 'a look-up by name is called _get, or _index if it gives a position'
    if len(parameters) == 2 and last['type'] == 'const char *' and last['name'] in ('name', 'path', 'key'):
        if f['result']['type'].endswith('*') and '_get' not in name:
            yield 'a look-up by name is called _get'
        if f['result']['type'] in NUMBERS and not name.endswith('_index'):
            yield 'the position of a name is called _index'


def check_sizes(table, name, f):
    alone = object_of(table, f) is not None and len(f['parameters']) == 1
    if alone and f['result']['type'] in NUMBERS and not name.endswith(SIZES):
        yield 'a number of things is called _count, a number of elements _numel'


def check_forms(table, name, f):
    functions = table['functions']
    kinds = [p['type'] for p in f['parameters']]
    if name.endswith('_with'):
        if not kinds or not re.fullmatch(r'const \w+_options \*', kinds[-1]):
            yield '_with takes a struct of options last'
        if stem(name, '_with') not in functions:
            yield '_with belongs to a function without options'
    if name.endswith('_many') and stem(name, '_many') not in functions:
        yield '_many belongs to a function of one'


def check_order(table, name, f):
    parameters = f['parameters']
    calls = any(p['role'] == 'callback' for p in parameters) # else it is itself a function that is called with user
    for before, p in zip([None, *parameters], parameters):
        if p['role'] == 'user' and calls and before['role'] != 'callback':
            yield 'user stands behind its function'
        if before is not None and before['type'] == p['type'] == 'bool':
            yield 'two switches side by side are members of a struct of options'
        if before is not None and re.fullmatch(r'const \w+_options \*', before['type']) and \
                p['role'] not in ('result', 'results', 'filled'):
            yield 'options stand behind all arguments, and results behind options'


def check_setters(table, name, f):
    functions, result = table['functions'], f['result']['type']
    whole = re.fullmatch(r'adz_set_(\w+)', name)
    if whole and not {'adz_get_' + whole.group(1), 'adz_is_' + whole.group(1), 'adz_is_' +
                      whole.group(1).removesuffix('_enabled') + '_enabled'} & functions.keys():
        yield 'adz_set_X has adz_get_X, or adz_is_X for a switch'
    if whole and [p['type'] for p in f['parameters']] == ['bool'] and result != 'bool':
        yield 'a switch returns its earlier value'
    part = re.fullmatch(r'(adz_\w+?)_set_(\w+)', name)
    if part and not {f'{part.group(1)}_get_{part.group(2)}', f'{part.group(1)}_{part.group(2)}'} & functions.keys():
        yield 'adz_noun_set_X has adz_noun_X or adz_noun_get_X'
    if len(f['parameters']) == 2 and f['parameters'][1]['type'] == 'bool' and object_of(table, f) and \
            'requires_grad' in name and not name.endswith('_'):
        yield 'what changes its argument has a _ behind its name or a verb in it'


def check_const(table, name, f):
    reads = name.endswith(('_count', '_numel', '_name_at', '_index', '_has', '_is_training'))
    if reads and object_of(table, f) and not f['parameters'][0]['type'].startswith('const'):
        yield 'what only reads an object takes a pointer to const'


def check_options(table, name):
    if name.endswith('_options') and not any(
            p['type'] == f'const {name} *' for f in table['functions'].values() for p in f['parameters']) and \
            not any(f['type'] == name for s in table['structs'].values() for f in s['fields']):
        yield 'nobody takes these options'


CHECKS = (check_ends, check_look_ups, check_sizes, check_forms, check_order, check_setters, check_const)


def complaints(table):
    """'name: rule' for each name against a rule."""
    found = []
    for name, f in table['functions'].items():
        if name not in EXCEPTIONS:
            found += [f'{name}: {rule}' for check in CHECKS for rule in check(table, name, f)]
    for name in table['structs']:
        found += [f'{name}: {rule}' for rule in check_options(table, name)]
    return found


def outdated(table, names):
    """Old names that are back, new names that are no more, and exceptions for functions that are gone."""
    there = set()
    for kind in ('functions', 'structs', 'enums', 'constants', 'handles', 'callbacks'):
        there |= table[kind].keys()
    for enum in table['enums'].values():
        there |= enum['values'].keys()
    found = [f'{old}: an old name' for old in names if old in there]
    found += [f'{new}: a new name that nothing has' for new in names.values()
              if new not in there and new.startswith('adz_')]
    return found + [f'{name}: an exception for nothing' for name in EXCEPTIONS if name not in there]


def made(result, *parameters):
    """A function as adze.json has it, of 'type name role' for each parameter."""
    split = [p.rsplit(' ', 2) for p in parameters]
    return {'result': {'type': result}, 'parameters': [{'type': t, 'name': n, 'role': r} for t, n, r in split]}


PLANTED = {
    'adz_csv_keep': made('adz_csv *', 'adz_csv * csv handle'),
    'adz_loader_release': made('void', 'adz_loader ** loader ended'),
    'adz_plan_end': made('void', 'adz_plan ** plan ended'),
    'adz_csv_cell': made('double', 'const adz_csv * csv handle', 'size_t index value'),
    'adz_values_find': made('adz_tensor *', 'const adz_values * values handle', 'const char * name string'),
    'adz_values_entry': made('adz_tensor *', 'const adz_values * values handle', 'const char * name string'),
    'adz_csv_position': made('int64_t', 'const adz_csv * csv handle', 'const char * name string'),
    'adz_csv_rows': made('int64_t', 'const adz_csv * csv handle'),
    'adz_backward_with': made('adz_status', 'adz_tensor * loss handle', 'size_t n value'),
    'adz_sums_many': made('adz_tensor *', 'adz_tensor * x handle'),
    'adz_minimum_of': made('adz_tensor *', 'adz_tensor_map function callback', 'adz_tensor * x handle',
                           'void * user user'),
    'adz_rotate': made('adz_tensor *', 'adz_tensor * x handle', 'bool left value', 'bool whole value'),
    'adz_turned': made('adz_tensor *', 'adz_tensor * x handle', 'const adz_conv_options * options struct',
                       'int dim value'),
    'adz_set_speed': made('adz_status', 'double speed value'),
    'adz_set_loud': made('void', 'bool on value'),
    'adz_plan_set_depth': made('adz_status', 'adz_plan * plan handle', 'int depth value'),
    'adz_module_requires_grad': made('adz_status', 'adz_module * module handle', 'bool on value'),
    'adz_csv_cell_count': made('int64_t', 'adz_csv * csv handle'),
}


def notices(table):
    missed = []
    for name, f in PLANTED.items():
        planted = copy.copy(table)
        planted['functions'] = {**table['functions'], name: f}
        missed += [] if any(c.startswith(name + ':') for c in complaints(planted)) else [name]
    planted = copy.copy(table)
    planted['structs'] = {**table['structs'], 'adz_speed_options': {'fields': []}}
    missed += [] if any(c.startswith('adz_speed_options:') for c in complaints(planted)) else ['adz_speed_options']
    missed += [] if outdated(table, {'adz_matmul': 'adz_mm'}) != outdated(table, {}) else ['an old name']
    return [f'{name}: planted, and not found' for name in missed]


def differs(page, names, calls):
    """What the table of the changelog lacks of the names and calls, or has beyond them."""
    rows = dict(re.findall(r'^\| `(\w+)` \| `([^|]*)` \|$', page, flags=re.M))
    wanted = {**names, **calls}
    return [f'{name}: not as in tools/renames.txt' for name in sorted(rows.keys() | wanted.keys())
            if rows.get(name) != wanted.get(name)]


def main():
    table = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding='utf-8'))
    names, calls = read_table(TABLE)
    if sys.argv[2] == '--notices':
        found = notices(table)
    else:
        page = pathlib.Path(sys.argv[2]).read_text(encoding='utf-8')
        found = complaints(table) + outdated(table, names) + differs(page, names, calls)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
