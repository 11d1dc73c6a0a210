"""One function of the extension adze._adze: how its arguments are converted, what it calls, what it returns."""
import re

from names import CONVERTED, default

# Kinds of numbers: the type of C, the conversion of an argument, that of a result.
NUMBERS = {'double': ('adzp_double', 'PyFloat_FromDouble'), 'int64_t': ('adzp_int64', 'PyLong_FromLongLong'),
           'int': ('adzp_int', 'PyLong_FromLong'), 'size_t': ('adzp_size', 'PyLong_FromSize_t'),
           'uint64_t': ('adzp_uint64', 'PyLong_FromUnsignedLongLong'),
           'uint32_t': ('adzp_uint32', 'PyLong_FromUnsignedLong'), 'bool': ('adzp_bool', 'adzp_from_bool'),
           'char': ('adzp_char', None), 'adz_shape': ('adzp_shape', 'adzp_from_shape'),
           'adz_dims': ('adzp_dims', 'adzp_from_dims'), 'adz_text': ('adzp_text', 'adzp_from_text')}
ARRAYS = {'const int64_t *': 'adzp_int64s', 'const double *': 'adzp_doubles', 'const char *const *': 'adzp_strings',
          'adz_tensor *const *': 'adzp_tensors'}
CALLBACKS = {'adz_lr_lambda': 'adzp_on_epoch', 'adz_distance_function': 'adzp_on_distance'}
# Callbacks in a struct of options, which are handed its `user` and are called during the call alone.
OPTION_CALLBACKS = {'adz_generate_function': 'adzp_on_generated'}
# Functions that may take long whatever the size of their arguments: they release the interpreter's lock.
LONG = re.compile(r'adz_(module_(forward|call_named|copy|to|store_weights|reset_parameters)|optimizer_step|plan_run|'
                  r'standardizer_fit|averaged_model_update|tokenizer_build|onnx_load|pretrained_(open|save|encode|tokenizer_open)|generate|plan_run_batches|odeint_events|checkpoint_(snapshot|restore))')


# Functions that change gradients or parameters: one thread at a time calls them.
TRAINS = re.compile(r'adz_(optimizer_(step|zero_grad|fill_grad_zero|add_param_group)|plan_run(_batches)?|module_(fill_)?grad_zero|module_zero_grad|'
                    r'clip_grad\w+|checkpoint_(load|save|snapshot|restore)|module_to|averaged_model_update|tensor_set_grad)')


# Structs of functions that a backward calls again.
FUNCTIONS = ('const adz_tensor_function *', 'const adz_ode_event *')


class Skip(Exception):
    """Why a function has none of its own."""


def quoted(text):
    lines = text.replace('\\', '\\\\').replace('"', '\\"').split('\n')
    return '\n        '.join(f'"{line}\\n"' for line in lines) if len(lines) > 1 else f'"{lines[0]}"'


class Function:
    """One function: the parameters of Python, and the statements of C before, in and after the call."""

    def __init__(self, table, name, f):
        self.table, self.name, self.f = table, name, f
        self.python = []     # (name, required, default as text)
        self.declared, self.before, self.passed, self.after, self.outputs, self.kept = [], [], [], [], [], []
        self.appended = [] # statements behind the conversions of all functions
        self.last = [] # statements after all conversions, which may not fail
        self.counts = {}
        self.long = bool(LONG.fullmatch(name)) or any(p['name'] == 'path' for p in f['parameters'])
        for p in f['parameters']:
            getattr(self, p['role'], self.unknown)(p)
        self.before += self.appended
        if name in CONVERTED:
            self.converted(f['parameters'][0]['name'])

    @property
    def short(self):
        return self.name.removeprefix('adz_')

    def unknown(self, p):
        raise Skip(f'no conversion of "{p["type"]} {p["name"]}" ({p["role"]})')

    def argument(self, name, required, value=''):
        spelled = {'lambda': 'lr_lambda', 'parameters': 'params', 'from': 'source'}.get(name, name)
        if spelled in [n for n, _, _ in self.python]:
            raise Skip(f'two arguments have the name {spelled}')
        self.python.append((spelled, required, value))
        return len(self.python) - 1, f'"{spelled}"'

    def convert(self, at, call):
        self.before.append(f'if (v[{at}] != NULL && !{call}) goto end;')

    def converted(self, x):
        at, said = self.argument('dtype', False, 'None')
        self.declared += ['adz_dtype p_dtype = ADZ_F32;', 'bool converted = false;']
        self.before += [f'converted = v[{at}] != NULL && v[{at}] != Py_None;',
                        f'if (converted && !adzp_word_of(&call, v[{at}], {said}, adzp_words_adz_dtype, (int *)&p_dtype)) '
                        'goto end;']
        self.last.append(f'if (converted) p_{x} = adz_to(p_{x}, p_dtype);')

    # ---- values

    def constant(self, value, type_):
        """A default of adze.json, as C and as Python have it."""
        enums = self.table['enums']
        if isinstance(value, str):
            return value, repr(self.word(type_, value)) if type_ in enums else value
        if type_ == 'bool':
            return ('true' if value else 'false'), str(bool(value))
        if type_ == 'adz_dims':
            return 'adz_dims_of(0, NULL)', 'None'
        if type_ == 'adz_shape':
            return 'adz_shape_of(0, NULL)', '()'
        if value == -2**63:
            return 'INT64_MIN', 'None'
        return ('NULL', 'None') if value is None else (repr(value), repr(value))

    def word(self, enum, value):
        """What Python calls a value of an enumeration: "mean" is ADZ_REDUCE_MEAN."""
        names = list(self.table['enums'][enum]['values'])
        if enum == 'adz_dtype':
            return {'F32': 'float32', 'F64': 'float64', 'I32': 'int32', 'I64': 'int64', 'U8': 'uint8',
                    'BOOL': 'bool', 'F16': 'float16', 'BF16': 'bfloat16'}[value[4:]]
        if enum == 'adz_fan':
            return value[4:].lower()
        parts = [n.split('_') for n in names]
        same = 0
        while len(names) > 1 and all(len(p) > same + 1 and p[same] == parts[0][same] for p in parts):
            same += 1
        return '_'.join(value.split('_')[same:]).lower()

    def assign(self, p, at, said, to):
        """The conversion of one number or one struct that is passed by value."""
        type_ = p['type']
        if type_ in self.table['enums']:
            self.convert(at, f'adzp_word_of(&call, v[{at}], {said}, adzp_words_{type_}, (int *)&{to})')
        elif type_ in NUMBERS:
            call = 'adzp_int64_none' if type_ == 'int64_t' and p.get('default') == -2**63 else NUMBERS[type_][0]
            self.convert(at, f'{call}(&call, v[{at}], {said}, &{to})')
        else:
            raise Skip(f'no conversion of "{type_} {p["name"]}"')

    def value(self, p):
        type_, name = p['type'], p['name']
        if any(q['type'] == 'const adz_ode_event *' and name == 'n_' + q['name'] for q in self.f['parameters']):
            return self.passed.append(name)
        if type_ == 'adz_tensor_list':
            return self.tensor_list(p)
        if type_ == 'adz_generator_state':
            return self.state(p)
        given, value = default(self.name, p)
        c, shown = self.constant(value, type_) if given else ('', '')
        at, said = self.argument(name, not given, shown)
        if type_ in self.table['enums'] or type_ in ('bool', 'char', 'adz_shape', 'adz_dims', 'adz_text') or \
                type_ in NUMBERS:
            start = c if given else {'adz_shape': 'adz_shape_of(0, NULL)', 'adz_dims': 'adz_dims_of(0, NULL)',
                                     'adz_text': '{ NULL, 0 }'}.get(type_, f'({type_})0')
            self.declared.append(f'{type_} p_{name} = {start};')
        self.assign(p, at, said, f'p_{name}')
        self.passed.append(f'p_{name}')

    def state(self, p):
        """The two numbers of a generator's state, as generator_get_state gives them."""
        self.declared.append(f'adz_generator_state p_{p["name"]} = {{ 0, 0 }};')
        for field in ('seed', 'offset'):
            at, said = self.argument(field, True)
            self.convert(at, f'adzp_uint64(&call, v[{at}], {said}, &p_{p["name"]}.{field})')
        self.passed.append(f'p_{p["name"]}')

    def tensor_list(self, p):
        at, said = self.argument(p['name'], True)
        name = p['name']
        self.declared += [f'adz_tensor *const *p_{name} = NULL;', f'size_t n_{name} = 0;']
        self.convert(at, f'adzp_tensors(&call, v[{at}], {said}, false, &p_{name}, &n_{name})')
        self.passed.append(f'(adz_tensor_list){{ p_{name}, n_{name} }}')

    # ---- objects

    def optional(self, p):
        return 'ADZ_NONE' in p['comment']

    def handle(self, p):
        to = re.search(r'(\w+) \*', p['type']).group(1)
        name = p['name']
        if to == 'adz_tensor':
            none = self.optional(p) or p['nullable']
            at, said = self.argument(name, not none, 'None')
            empty = 'adz_none()' if self.optional(p) else 'NULL'
            self.declared.append(f'adz_tensor *p_{name} = {empty if none else "NULL"};')
            call = f'adzp_tensor(&call, v[{at}], {said}, {"true" if self.optional(p) else "false"}, &p_{name})'
            self.before.append(f'if (v[{at}] != NULL{" && v[%d] != Py_None" % at if none else ""} && !{call}) goto end;')
            self.passed.append(f'p_{name}')
            return
        at, said = self.argument(name, not p['nullable'], 'None')
        self.declared.append(f'{to} *p_{name} = NULL;')
        none = 'true' if p['nullable'] else 'false'
        self.convert(at, f'adzp_handle(&call, v[{at}], {said}, &adzp_kinds[ADZP_{to}], {none}, &p_{name})')
        self.kept.append(at)
        null = f'p_{name} == NULL ? NULL : ' if p['nullable'] else ''
        self.passed.append(f'{null}{to}_keep(p_{name})' if p['taken'] else f'p_{name}')

    def array(self, p):
        name, type_ = p['name'], p['type']
        at, said = self.argument(name, not p['nullable'], 'None')
        none = 'true' if p['nullable'] else 'false'
        self.declared.append(f'size_t n_{name} = 0;')
        if type_ in ARRAYS:
            self.declared.append(f'{type_}p_{name} = NULL;')
            self.convert(at, f'{ARRAYS[type_]}(&call, v[{at}], {said}, {none}, &p_{name}, &n_{name})')
        elif type_ == 'const adz_named_tensor *' or type_ == 'const adz_text *':
            call = 'adzp_named' if 'named' in type_ else 'adzp_texts'
            self.declared.append(f'{type_}p_{name} = NULL;')
            option = f'{none}, ' if call == 'adzp_texts' else ''
            self.convert(at, f'{call}(&call, v[{at}], {said}, {option}&p_{name}, &n_{name})')
        else:
            to = re.fullmatch(r'(\w+) \*const \*', type_)
            if not to or to.group(1) not in self.table['handles']:
                raise Skip(f'no conversion of "{type_} {name}"')
            self.declared.append(f'{type_}p_{name} = NULL;')
            self.convert(at, f'adzp_handles(&call, v[{at}], {said}, &adzp_kinds[ADZP_{to.group(1)}], {none}, '
                             f'&p_{name}, &n_{name})')
            if p['taken']:
                self.last.append(f'for (size_t i = 0; i < n_{name}; ++i) {to.group(1)}_keep(p_{name}[i]);')
            self.kept.append(at)
        if name == 'arguments': # behind them, the tensors that keep functions
            for q in self.f['parameters']:
                if q['type'] in FUNCTIONS:
                    self.appended.append(f'if (!adzp_append(&call, &p_arguments, &n_arguments, held_{q["name"]})) goto end;')
        self.passed.append(f'p_{name}')

    def count(self, p):
        counted = [q for q in self.f['parameters'] if q['name'] in p['counts']]
        first = counted[0]
        if first['role'] == 'filled':
            return self.passed.append(f'sizeof f_{first["name"]}')
        if first['role'] in ('text', 'bytes'):
            return self.passed.append(f'n_{first["name"]}')
        if first['role'] == 'buffer':
            return self.passed.append('(size_t)0')
        if first['role'] == 'results' and first.get('length') == 'room':
            x, dim = self.f['parameters'][0]['name'], 'dim'
            self.before.append(f'call.name = "{self.short}";')
            self.counts[first['name']] = f'room_of(p_{x}, p_{dim})'
            return self.passed.append(f'room_of(p_{x}, p_{dim})')
        if first['role'] != 'array':
            raise Skip(f'{p["name"]} counts {first["name"]}')
        wanted = next((q['name'] for q in counted if not q['nullable']), first['name'])
        for other in counted:
            if other['name'] != wanted:
                extra = f'p_{other["name"]} != NULL && ' if other['nullable'] else ''
                self.before.append(f'if ({extra}!adzp_same_count(&call, "{other["name"]}", n_{other["name"]}, '
                                   f'n_{wanted})) goto end;')
        self.passed.append(f'({p["type"]})n_{wanted}')

    def string(self, p):
        name = p['name']
        at, said = self.argument(name, not p['nullable'], 'None')
        self.declared.append(f'const char *p_{name} = NULL;')
        none = 'true' if p['nullable'] else 'false'
        self.convert(at, f'adzp_path(&call, v[{at}], {said}, &p_{name})' if name in ('path', 'folder') else
                     f'adzp_string(&call, v[{at}], {said}, {none}, &p_{name})')
        self.passed.append(f'p_{name}')

    def text(self, p):
        name = p['name']
        at, said = self.argument(name, True)
        self.declared += [f'adz_text t_{name} = {{ NULL, 0 }};', f'size_t n_{name} = 0;']
        self.convert(at, f'adzp_text(&call, v[{at}], {said}, &t_{name})')
        self.before.append(f'n_{name} = t_{name}.size;')
        self.passed.append(f't_{name}.bytes')

    def bytes(self, p):
        name = p['name']
        at, said = self.argument(name, True)
        self.declared += [f'const void *p_{name} = NULL;', f'size_t n_{name} = 0;']
        self.convert(at, f'adzp_bytes(&call, v[{at}], {said}, &p_{name}, &n_{name})')
        self.passed.append(f'p_{name}')

    # ---- options

    def function(self, p):
        """A function that a backward calls again: the arguments of the function keep it."""
        if not any(q['name'] == 'arguments' for q in self.f['parameters']):
            return self.unknown(p)
        at, said = self.argument(p['name'], True)
        functions = [q['name'] for q in self.f['parameters'] if q['type'] in FUNCTIONS]
        self.declared += [f'const adz_tensor_function *p_{p["name"]} = NULL;', f'adz_tensor *held_{p["name"]} = NULL;']
        self.convert(at, f'adzp_function(&call, v[{at}], {said}, {len(functions)}, &p_{p["name"]}, &held_{p["name"]})')
        return self.passed.append(f'p_{p["name"]}')

    def events(self, p):
        """Several functions that a backward calls again: triples of a function, its direction and its last hit."""
        at, said = self.argument(p['name'], True)
        functions = [q['name'] for q in self.f['parameters'] if q['type'] in FUNCTIONS]
        name = p['name']
        self.declared += [f'const adz_ode_event *p_{name} = NULL;', f'size_t n_{name} = 0;', f'adz_tensor *held_{name} = NULL;']
        self.convert(at, f'adzp_events(&call, v[{at}], {said}, {len(functions)}, &p_{name}, &n_{name}, &held_{name})')
        return self.passed.append(f'p_{name}')

    def struct(self, p):
        to = re.search(r'(\w+) \*', p['type']).group(1)
        if to == 'adz_tensor_function':
            return self.function(p)
        if to == 'adz_ode_event':
            return self.events(p)
        s = self.table['structs'][to]
        init = self.table['functions'].get(s['init'])
        if not s['sized'] or not init or len(init['parameters']) != 2 or s['retained']:
            return self.passed.append('NULL') if p['nullable'] else self.unknown(p)
        name = p['name']
        self.declared.append(f'{to} o_{name};')
        self.before.append(f'{to}_init(&o_{name}, sizeof o_{name});')
        for field in s['fields'][1:]:
            self.field(field, f'o_{name}.{field["name"]}', s['fields'])
        self.passed.append(f'&o_{name}')

    def field(self, field, to, fields):
        type_, name = field['type'], field['name']
        names = [f['name'] for f in fields]
        if type_ in OPTION_CALLBACKS:
            at, said = self.argument(name, False, 'None')
            place = to.rsplit('.', 1)[0]
            self.convert(at, f'adzp_callable(&call, v[{at}], {said}, true, &{place}.user)')
            return self.before.append(f'if ({place}.user != NULL) {to} = {OPTION_CALLBACKS[type_]};')
        pointed = re.fullmatch(r'(?:const )?(\w+) \*', type_)
        if name.startswith('n_') and name[2:] in names or name == 'user' or 'function' in field or \
                type_ in self.table['callbacks'] or type_ in ('adz_tensor **', 'void *') or \
                pointed and pointed.group(1) in self.table['structs'] or field.get('length'):
            return
        if type_ in self.table['enums'] or type_ in NUMBERS:
            value = field.get('default')
            if isinstance(value, list):
                value = ()
            at, said = self.argument(name, False, self.constant(value, type_)[1])
            return self.assign(field, at, said, to)
        at, said = self.argument(name, False, 'None')
        if type_ == 'const char *':
            return self.convert(at, f'adzp_string(&call, v[{at}], {said}, true, &{to})')
        if type_ == 'adz_tensor *':
            return self.before.append(f'if (v[{at}] != NULL && v[{at}] != Py_None && '
                                      f'!adzp_tensor(&call, v[{at}], {said}, false, &{to})) goto end;')
        if type_ in ARRAYS:
            self.declared.append(f'size_t n_{name} = 0;')
            self.convert(at, f'{ARRAYS[type_]}(&call, v[{at}], {said}, true, &{to}, &n_{name})')
            if 'n_' + name in names:
                self.before.append(f'{to.rsplit(".", 1)[0]}.n_{name} = n_{name};')
            return None
        if type_ == 'adz_tensor_list':
            return self.convert(at, f'adzp_tensors(&call, v[{at}], {said}, true, &{to}.items, &{to}.count)')
        if pointed and pointed.group(1) in self.table['handles']:
            self.kept.append(at)
            return self.convert(at, f'adzp_handle(&call, v[{at}], {said}, &adzp_kinds[ADZP_{pointed.group(1)}], '
                                    f'true, &{to})')
        many = re.fullmatch(r'(\w+) \*const \*', type_)
        if many and many.group(1) in self.table['handles']:
            self.kept.append(at)
            self.declared.append(f'size_t n_{name} = 0;')
            self.convert(at, f'adzp_handles(&call, v[{at}], {said}, &adzp_kinds[ADZP_{many.group(1)}], true, &{to}, '
                             f'&n_{name})')
            return self.before.append(f'{to.rsplit(".", 1)[0]}.n_{name} = n_{name};')
        raise Skip(f'no conversion of the option "{type_} {name}"')

    # ---- results

    def sized_text(self):
        """Whether the result is a text that no zero byte ends, with its size as another result."""
        return self.f['result']['type'] == 'const char *' and any(
            p['role'] == 'result' and p['name'] == 'size' for p in self.f['parameters'])

    def result(self, p):
        name = p['name']
        if p['type'] == 'adz_tensor **':
            self.declared.append(f'adz_tensor *r_{name} = NULL;')
            self.outputs.append(f'adzp_from_tensor(r_{name})')
        elif p['type'] == 'size_t *' and (self.counts or self.sized_text()):
            self.declared.append(f'size_t r_{name} = 0;')
        elif p['type'] == 'adz_dataset **':
            self.declared.append(f'adz_dataset *r_{name} = NULL;')
            self.outputs.append(f'adzp_from_handle(&adzp_kinds[ADZP_adz_dataset], r_{name}, true, NULL)')
        elif p['type'] in ('double *', 'size_t *', 'int64_t *', 'int *', 'bool *'):
            type_ = p['type'][:-2]
            self.declared.append(f'{type_} r_{name} = 0;')
            self.outputs.append(f'{NUMBERS[type_][1]}(r_{name})')
        else:
            return self.unknown(p)
        return self.passed.append(f'&r_{name}')

    def results(self, p):
        name, length = p['name'], p.get('length')
        numbers = [q['name'] for q in self.f['parameters'] if q['role'] == 'count']
        if (length or '').isdigit():
            self.declared.append(f'adz_tensor *r_{name}[{length}] = {{ NULL }};')
            self.outputs += [f'adzp_from_tensor(r_{name}[{i}])' for i in range(int(length))]
            return self.passed.append(f'r_{name}')
        by_call = re.fullmatch(r'(adz_\w+)\((\w+)\)', length or '')
        by_events = re.fullmatch(r'1 \+ 2 \* (n_\w+)', length or '')
        if p['type'] != 'adz_tensor **' or length not in numbers + ['room', 'chunks'] and not by_call and not by_events:
            return self.unknown(p)
        q = next((q for q in self.f['parameters'] if q['name'] == length), None)
        if by_call or by_events:
            room = f'{by_call.group(1)}(p_{by_call.group(2)})' if by_call else f'(1 + 2 * {by_events.group(1)})'
        elif length == 'room':
            room = 'room_of(p_x, p_dim)'
        elif length == 'chunks':
            room = '(p_chunks < 1 ? 1 : (size_t)p_chunks)'
            self.counts[name] = room
        else:
            room = f'n_{q["counts"][0]}'
        self.declared.append(f'adz_tensor **r_{name} = NULL;')
        self.before.append(f'if ((r_{name} = adzp_room(&call, {room} * sizeof *r_{name})) == NULL) goto end;')
        self.passed.append(f'r_{name}')
        counted = any(o['type'] == 'size_t *' for o in self.f['parameters'])
        self.outputs.append(f'adzp_from_list(r_{name}, {"r_count" if counted else room})')

    def filled(self, p):
        to = re.search(r'(\w+) \*', p['type']).group(1)
        name = p['name']
        fields = self.table['structs'][to]['fields']
        if all(f['type'] == 'adz_tensor *' for f in fields): # a dictionary of tensors
            self.declared.append(f'{to} f_{name} = {{ {", ".join(["NULL"] * len(fields))} }};')
            values = ', '.join(f'"{f["name"]}", adzp_from_tensor(f_{name}.{f["name"]})' for f in fields)
            self.outputs.append(f'Py_BuildValue("{{{",".join(["sN"] * len(fields))}}}", {values})')
            return self.passed.append(f'&f_{name}')
        if p['nullable']:
            return self.passed.append('NULL')
        if self.name.endswith(('_load', '_restore')): # it says what is to be filled, such as a model from a file
            self.struct(p)
            counters = [f for f in fields[1:] if f['type'] == 'int64_t']
            values = ', '.join(f'"{f["name"]}", PyLong_FromLongLong(o_{name}.{f["name"]})' for f in counters)
            return self.outputs.append(f'Py_BuildValue("{{{",".join(["sN"] * len(counters))}}}", {values})')
        made = []
        for f in fields:
            if f['type'] in self.table['enums']:
                made.append((f['name'], f'PyLong_FromLong((long)f_{name}.{f["name"]})'))
            elif f['type'] in NUMBERS and not f.get('length') and NUMBERS[f['type']][1]:
                made.append((f['name'], f'{NUMBERS[f["type"]][1]}(f_{name}.{f["name"]})'))
            else:
                return self.unknown(p)
        self.declared.append(f'{to} f_{name} = {{ 0 }};')
        if made[0][0] == 'size' and self.table['structs'][to]['sized']:
            made = made[1:]
            self.before.append(f'f_{name}.size = sizeof f_{name};')
        values = ', '.join(f'"{n}", {call}' for n, call in made)
        self.outputs.append(f'Py_BuildValue("{{{",".join(["sN"] * len(made))}}}", {values})')
        self.passed.append(f'&f_{name}')
        return None

    def callback(self, p):
        if p['type'] not in CALLBACKS:
            return self.unknown(p)
        at, said = self.argument(p['name'], not p['nullable'], 'None')
        self.declared.append('void *u_user = NULL;')
        none = 'true' if p['nullable'] else 'false'
        self.convert(at, f'adzp_callable(&call, v[{at}], {said}, {none}, &u_user)')
        self.kept.append(at)
        self.passed.append(f'u_user == NULL ? NULL : {CALLBACKS[p["type"]]}')

    def user(self, _):
        self.passed.append('u_user')

    def buffer(self, _):
        self.passed.append('NULL')

    def returned(self):
        """How the result of C becomes one of Python; None for a status or nothing."""
        r = self.f['result']
        type_ = r['type']
        tensors = [i for i, (n, _, _) in enumerate(self.python)
                   if any(p['name'] == n and p['type'].endswith('adz_tensor *') for p in self.f['parameters'])]
        if type_ in ('void', 'adz_status'):
            return None
        if type_ == 'adz_tensor *':
            first, second = ([f'v[{i}]' for i in tensors] + ['NULL', 'NULL'])[:2]
            return f'adzp_from_result(r, {first}, {second})'
        if any(p['role'] == 'buffer' for p in self.f['parameters']):
            return 'text'
        if type_ == 'adz_dtype':
            return 'adzp_from_dtype(r)'
        if type_ in self.table['enums']:
            return 'PyLong_FromLong((long)r)'
        if type_ in NUMBERS and NUMBERS[type_][1]:
            return f'{NUMBERS[type_][1]}(r)'
        if type_ == 'const char *':
            return 'adzp_from_text((adz_text){ r, r_size })' if self.sized_text() else 'adzp_from_string(r)'
        if type_ == 'adz_tensor_list':
            return 'adzp_from_list(r.items, r.count)'
        if type_ == 'adz_named_list':
            return 'adzp_from_named(r)'
        if type_ == 'adz_generator_state':
            return 'Py_BuildValue("KK", (unsigned long long)r.seed, (unsigned long long)r.offset)'
        to = type_.removesuffix(' *')
        if type_.endswith(' *') and to in self.table['handles']:
            owned = 'true' if r['ownership'] == 'caller' else 'false'
            owner = f'v[{self.kept[0]}]' if self.kept else 'NULL'
            return f'adzp_from_handle(&adzp_kinds[ADZP_{to}], r, {owned}, {owner})'
        raise Skip(f'no conversion of the result "{type_}"')

    def body(self, numbers):
        """The function that takes the arguments in the order of the parameters."""
        made = self.returned()
        work = 'ADZP_TRAINS' if TRAINS.fullmatch(self.name) else 'ADZP_LONG + 1' if self.long else '0'
        lines = [f'PyObject *adzp_c_{self.short}(PyObject *const *v)', '{']
        lines += [f'    {line}' for line in numbers]
        lines += [f'    adzp_call call = {{ "{self.short}", {work}, NULL, NULL, NULL }};',
                  '    PyObject *made = NULL;']
        lines += [f'    {line}' for line in self.declared]
        if made is not None and made != 'text':
            lines.append(f'    {self.f["result"]["type"]} r;')
        lines += ['    (void)v;'] + [f'    {line}' for line in self.before]
        call = f'{self.name}({", ".join(self.passed)})'
        lines.append('    if (!adzp_begin(&call)) goto end;')
        lines += [f'    {line}' for line in self.last]
        if made == 'text':
            lines += self.text_of()
        else:
            lines.append(f'    {"r = " if made else ""}{call};')
            lines.append('    if (!adzp_done(&call)) goto end;')
            lines += self.output(made)
        lines += ['end:', '    adzp_end(&call);', '    return made;', '}', '']
        return lines

    def text_of(self):
        """A text of unknown length: the first call tells it."""
        again = list(self.passed)
        at = again.index('NULL')
        again[at], again[at + 1] = 'text', 'size + 1'
        return [f'    size_t size = {self.name}({", ".join(self.passed)});',
                '    char *text = adz_error_code() == ADZ_OK ? adzp_room(&call, size + 1) : NULL;', '    if (text == NULL) { adzp_done(&call); goto end; }',
                f'    {self.name}({", ".join(again)});', '    if (!adzp_done(&call)) goto end;',
                '    made = adzp_from_text((adz_text){ text, size });']

    def output(self, made):
        outputs = ([made] if made else []) + self.outputs
        if not outputs:
            return ['    made = Py_NewRef(Py_None);']
        if len(outputs) == 1:
            lines = [f'    made = {outputs[0]};']
        else:
            lines = [f'    made = Py_BuildValue("{"N" * len(outputs)}", {", ".join(outputs)});']
        type_ = self.f['result']['type']
        if self.f['result']['ownership'] == 'caller' and 'adzp_from_handle' in (made or ''):
            for at in self.kept:
                lines.append(f'    if (made != NULL && !adzp_keep(made, v[{at}])) Py_CLEAR(made);')
        elif type_ == 'adz_module *' and any(p['taken'] for p in self.f['parameters']):
            lines.append('    if (made != NULL && !adzp_keep(v[0], v[1])) Py_CLEAR(made);')
        return lines


def signature(f):
    parts = [n if required else f'{n}={value}' for n, required, value in f.python]
    after = False
    for i, (_, required, _) in enumerate(f.python):
        after = after or not required
        if after and required: # one without a default may not follow: the documentation shows it as needed
            parts[i] = f.python[i][0] + '=...'
    return f'{f.short}({", ".join(parts)})'


def document(f):
    text = [f'{signature(f)}\n--\n', f.f['comment']]
    by_name = {p['name']: p['comment'] for p in f.f['parameters']}
    for p in f.f['parameters']:
        if p['role'] == 'struct':
            for field in f.table['structs'][re.search(r'(\w+) \*', p['type']).group(1)]['fields']:
                by_name.setdefault(field['name'], field['comment'])
    lines = [f'    {n}: {by_name[n]}' for n, _, _ in f.python if by_name.get(n)]
    text += ['\nArguments:'] + lines if lines else []
    if f.f['see']:
        text.append(f'\nSee {f.f["see"]}.')
    return '\n'.join(text)


def rest_of(f):
    """The parameter that takes several numbers by position, as in x.reshape(2, 3)."""
    parameters = {p['name']: p['type'] for p in f.f['parameters']}
    for i, (name, _, _) in enumerate(f.python):
        later = [parameters.get(n) for n, _, _ in f.python[i + 1:]]
        if parameters.get(name) in ('adz_shape', 'adz_dims') and later in ([], ['adz_dtype']):
            return i if f.f['header'] != 'adze/nn/conv.h' and not f.name.endswith('_new') else -1
    return -1
