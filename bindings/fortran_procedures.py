"""The procedures of adze.f90: what each declares, does before it calls C, passes on, and does after it.

A parameter x is passed by means of locals: x__c is its copy as C has it, x__p a pointer to that, x__n its length.
"""
import re

# Integers that may be of the default kind or of 64 bits.
WIDE = {'int64_t', 'size_t', 'uint64_t'}
NUMBERS = {'bool': 'logical(c_bool)', 'int': 'integer(c_int)', 'int32_t': 'integer(c_int32_t)',
           'int64_t': 'integer(c_int64_t)', 'uint64_t': 'integer(c_int64_t)', 'size_t': 'integer(c_size_t)',
           'uint32_t': 'integer(c_int32_t)', 'uint16_t': 'integer(c_int16_t)', 'uint8_t': 'integer(c_int8_t)',
           'double': 'real(c_double)', 'float': 'real(c_float)', 'char': 'character(kind=c_char)'}
# Names of parameters that are also functions which the procedures call.
INTRINSICS = {'size', 'int', 'len', 'present', 'logical', 'trim', 'transfer'}
# Arrays whose elements Fortran and C share. Of an array of objects C takes the pointers.
ARRAYS = {'const int *': 'integer(c_int)', 'const int64_t *': 'integer(c_int64_t)', 'const double *': 'real(c_double)',
          'const adz_named_tensor *': 'type(adz_named_tensor)'}


def wrapped(text, indent):
    """A statement, cut into lines of at most 120 characters."""
    lines, line = [], ' ' * indent + text
    while len(line) > 120:
        cut = line.rfind(', ', 0, 117)
        if cut < indent + 4:
            return [*lines, line]
        lines.append(line[:cut + 2].rstrip() + ' &')
        line = ' ' * (indent + 4) + line[cut + 2:]
    return lines + [line]


def literal(value, type_):
    """A value of the table as Fortran writes it."""
    if type_ == 'bool':
        return '.true._c_bool' if value else '.false._c_bool'
    if type_ == 'double':
        return re.sub(r'^(-?[\d.]+?)(e(.*))?$', lambda m: m.group(1) + 'd' + (m.group(3) or '0'), repr(float(value)))
    if type_ == 'char':
        return f'achar({value}, c_char)'
    kind = re.search(r'\((\w+)\)', NUMBERS[type_]).group(1)
    return f'(-huge(0_{kind}) - 1_{kind})' if value == -2**63 else f'{value}_{kind}'


class Procedure:
    """One function: what its procedure declares, does before the call, passes on, and does after it."""

    def __init__(self, fortran, name, function):
        self.f, self.name, self.function = fortran, name, function
        self.dummies, self.declared, self.local, self.before = [], [], [], []
        self.passed, self.after, self.checks, self.wide = [], [], [], []
        for p in function['parameters']:
            self.parameter(p)

    def spelled(self, name):
        return name + '_' if name in INTRINSICS else name

    def dummy(self, name, declaration):
        self.dummies.append(name)
        self.declared.append(f'{declaration} :: {name}')

    def parameter(self, p):
        getattr(self, p['role'])(p, self.spelled(p['name']))

    # ---- numbers and structs by value

    def value(self, p, name):
        type_ = p['type']
        if type_ in WIDE:
            self.wide.append(name)
            self.dummy(name, 'integer(c_int64_t), intent(in)')
            self.passed.append(name)
        elif type_ == 'bool':
            self.dummy(name, 'logical, intent(in)')
            self.passed.append(f'logical({name}, c_bool)')
        elif type_ in NUMBERS or type_ in self.f.table['enums']:
            self.dummy(name, f'{NUMBERS.get(type_, "integer(c_int)")}, intent(in)')
            self.passed.append(name)
        elif type_ in ('adz_shape', 'adz_dims'):
            wide = type_ == 'adz_shape'
            self.wide += [name] if wide else []
            self.dummy(name, f'integer({"c_int64_t" if wide else "c_int"}), intent(in)')
            self.declared[-1] += '(:)'
            self.passed.append(f'adzf_{type_[4:]}({name})')
        elif type_ == 'adz_tensor_list':
            self.array({'name': p['name'], 'type': 'adz_tensor *const *', 'nullable': False}, name)
            self.passed[-1] = f'adz_tensor_list({self.passed[-1]}, size({name}, kind=c_size_t))'
        elif type_ == 'adz_text':
            self.text(p, name)
            self.passed[-1] = f'adz_text({self.passed[-1]}, len({name}, kind=c_size_t))'
        else:
            self.dummy(name, f'type({type_}), intent(in)')
            self.passed.append(name)

    def count(self, p, name):
        counted = [self.f.parameter(self.name, a) for a in p['counts']]
        first = next((a for a in counted if not self.optional(a)), counted[0])
        one = self.spelled(first['name'])
        kind = 'c_int' if p['type'] == 'int' else 'c_size_t'
        self.passed.append({'text': f'len({one}, kind=c_size_t)', 'buffer': f'size({one}__c, kind=c_size_t)',
                            'filled': f'c_sizeof({one})'}.get(
            first['role'], f'int({one}__n, {kind})' if self.optional(first) else f'size({one}, kind={kind})'))
        for other in counted:
            if other is not first and first['role'] == 'array':
                self.checks.append((self.spelled(other['name']), self.optional(other), '/=', f'size({one})'))

    @staticmethod
    def optional(p):
        return p.get('role', 'array') == 'array' and p['nullable'] and p['type'] != 'const int64_t *'

    def needed(self, text):
        """How many elements an array of results needs, in Fortran; '' if it says so itself."""
        terms = []
        for term in text.replace('->', '%').split(' + '):
            factors = [self.factor(factor) for factor in term.split(' * ')]
            if '' in factors:
                return ''
            terms.append(' * '.join(factors))
        return ' + '.join(terms)

    def factor(self, text):
        """A number or a parameter of a length, in Fortran; '' if it counts the results themselves."""
        p = next((q for q in self.function['parameters'] if q['name'] == text), None)
        if not p:
            return text
        counted = [self.f.parameter(self.name, a) for a in p.get('counts', [])]
        array = next((a for a in counted if a['role'] == 'array'), None)
        if not array:
            return '' if p['role'] == 'count' else self.spelled(text)
        return f'{"adzf_count" if self.optional(array) else "size"}({self.spelled(array["name"])})'

    # ---- pointers

    def pointer_or_null(self, name, statements, optional):
        """A C pointer that is NULL where the argument is left out."""
        if not optional:
            self.before += statements
            return
        self.before.append(f'if (present({name})) then')
        self.before += ['  ' + s for s in statements]
        self.before.append('end if')

    def handle(self, p, name):
        to = re.search(r'(\w+) \*', p['type']).group(1)
        if not p['nullable']:
            self.dummy(name, f'type({to}), intent(in)')
            self.passed.append(f'{name}%p')
            return
        self.dummy(name, f'type({to}), intent(in), optional')
        self.local.append(f'type(c_ptr) :: {name}__p')
        self.before.append(f'{name}__p = c_null_ptr')
        self.before.append(f'if (present({name})) {name}__p = {name}%p')
        self.passed.append(f'{name}__p')

    def ended(self, p, name):
        self.dummy(name, f'type({p["type"].split()[0]}), intent(inout)')
        self.passed.append(f'{name}%p')

    def user(self, p, name):
        self.dummy(name, 'type(c_ptr), intent(in), optional')
        self.local.append(f'type(c_ptr) :: {name}__p')
        self.before.append(f'{name}__p = c_null_ptr')
        self.before.append(f'if (present({name})) {name}__p = {name}')
        self.passed.append(f'{name}__p')

    def pointer(self, p, name):
        if p['nullable']:
            self.user(p, name)
        else:
            self.dummy(name, 'type(c_ptr), intent(in)')
            self.passed.append(name)

    def callback(self, p, name):
        optional = ', optional' if p['nullable'] else ''
        kind = p['type'] if p['type'] in self.f.table['callbacks'] else f'{self.name}__{p["name"]}'
        self.dummy(name, f'procedure({kind}){optional}')
        self.local.append(f'type(c_funptr) :: {name}__p')
        if optional:
            self.before.append(f'{name}__p = c_null_funptr')
        self.before.append((f'if (present({name})) ' if optional else '') + f'{name}__p = c_funloc({name})')
        self.passed.append(f'{name}__p')

    def struct(self, p, name):
        to = re.search(r'(\w+) \*', p['type']).group(1)
        table = self.f.table['structs'][to]
        if table['retained'] or not table['sized']:
            intent = 'inout' if table['retained'] else 'in'
            self.dummy(name, f'type({to}), intent({intent}), target' + (', optional' if p['nullable'] else ''))
            self.local.append(f'type(c_ptr) :: {name}__p')
            statements = [f'{name}%size = c_sizeof({name})'] if table['retained'] else []
            self.before.append(f'{name}__p = c_null_ptr')
            self.pointer_or_null(name, statements + [f'{name}__p = c_loc({name})'], p['nullable'])
            self.passed.append(f'{name}__p')
            return
        self.dummy(name, f'type({to}), intent(in)' + (', optional' if p['nullable'] else ''))
        self.local += [f'type({to}), target :: {name}__s', f'type(c_ptr) :: {name}__p']
        self.before.append(f'{name}__p = c_null_ptr')
        texts = [f for f in table['fields'] if f['type'] == 'const char *' and f.get('default')]
        self.pointer_or_null(name, [f'{name}__s = {name}', f'{name}__s%size = c_sizeof({name}__s)'] + [
            f'if (.not. c_associated({name}__s%{f["name"]})) {name}__s%{f["name"]} = '
            f'c_loc(default_{f["name"]})' for f in texts] + [f'{name}__p = c_loc({name}__s)'],
            p['nullable'])
        self.passed.append(f'{name}__p')

    def filled(self, p, name):
        to = re.search(r'(\w+) \*', p['type']).group(1)
        sized = self.f.table['structs'][to]['sized'] and 'length' not in p
        intent = 'out' if 'length' in p else 'inout'
        self.dummy(name, f'type({to}), intent({intent}), target' + (', optional' if p['nullable'] else ''))
        self.local.append(f'type(c_ptr) :: {name}__p')
        self.before.append(f'{name}__p = c_null_ptr')
        statements = [f'{name}%size = c_sizeof({name})'] if sized else []
        self.pointer_or_null(name, statements + [f'{name}__p = c_loc({name})'], p['nullable'])
        self.passed.append(f'{name}__p')

    def stream(self, p, name):
        self.dummy('path', 'character(*), intent(in), optional')
        self.local.append('type(c_ptr) :: path__p')
        self.before += ['path__p = adzf_open(path)', 'if (.not. c_associated(path__p)) then'] + \
            ['  ' + s for s in self.refused("adzf_refuse('" + self.name[4:] + "', ADZ_ERR_IO, "
                                           "'the file cannot be opened for writing; check its folder')")] + ['end if']
        self.passed.append('path__p')
        self.after.append('call adzf_close(path__p)')

    # ---- texts

    def string(self, p, name):
        optional = ', optional' if p['nullable'] else ''
        self.dummy(name, f'character(*), intent(in){optional}')
        self.local += [f'character(kind=c_char), allocatable, target :: {name}__c(:)', f'type(c_ptr) :: {name}__p']
        self.before.append(f'{name}__p = c_null_ptr')
        self.pointer_or_null(name, [f'allocate ({name}__c, source=adzf_letters(trim({name})))', f'{name}__p = c_loc({name}__c)'],
                             p['nullable'])
        self.passed.append(f'{name}__p')

    def text(self, p, name):
        self.dummy(name, 'character(*), intent(in)')
        self.local.append(f'character(kind=c_char), allocatable, target :: {name}__c(:)')
        self.before.append(f'allocate ({name}__c, source=adzf_letters({name}))')
        self.passed.append(f'c_loc({name}__c)')

    def bytes(self, p, name):
        self.dummy(name, 'integer(c_int8_t), intent(in), contiguous, target')
        self.declared[-1] += '(:)'
        self.passed.append(f'adzf_bytes({name})')

    def buffer(self, p, name):
        self.dummy(name, 'character(*), intent(out)')
        self.local.append(f'character(kind=c_char), allocatable, target :: {name}__c(:)')
        self.before += [f'allocate ({name}__c(len({name}) + 1))', f'{name}__c = c_null_char']
        self.passed.append(f'c_loc({name}__c)')
        self.after.append(f'call adzf_fill({name}, {name}__c)')

    # ---- arrays

    def array(self, p, name):
        type_ = p['type']
        if type_ in ('const char *const *', 'const adz_text *'):
            self.texts(p, name)
            return
        if p.get('retained'): # no copy: the program's array must live on
            self.dummy(name, f'type({type_.split()[0]}), intent(in), target, contiguous')
            self.declared[-1] += '(:)'
            self.local.append(f'type(c_ptr) :: {name}__p')
            self.before += [f'{name}__p = c_null_ptr', f'if (size({name}) > 0) {name}__p = c_loc({name})']
            self.passed.append(f'{name}__p')
            return
        optional = ', optional' if self.optional(p) else ''
        element = ARRAYS.get(type_, f'type({type_.split()[0]})')
        self.wide += [name] if type_ == 'const int64_t *' else []
        self.dummy(name, f'{element}, intent(in){optional}')
        self.declared[-1] += '(:)'
        self.local += [f'{ARRAYS.get(type_, "type(c_ptr)")}, allocatable, target :: {name}__c(:)',
                       f'type(c_ptr) :: {name}__p']
        self.before.append(f'{name}__p = c_null_ptr')
        self.kept(name, [f'allocate ({name}__c(size({name})))',
                         f'{name}__c(:) = {name}' + ('' if type_ in ARRAYS else '%p')], optional)
        if p.get('length') == 'the rank of t': # a NULL tensor is left to C
            self.checks.append((name, False, '/=', 'max(adz_tensor_rank(t), merge(0, size(index), c_associated(t%p)))'))

    def kept(self, name, statements, optional):
        """Passes the copy of an array, or NULL if it is empty or left out."""
        if optional:
            self.local.append(f'integer(c_size_t) :: {name}__n')
            self.before.append(f'{name}__n = 0')
            statements = statements + [f'{name}__n = size({name}, kind=c_size_t)']
        self.pointer_or_null(name, statements + [f'if (size({name}) > 0) {name}__p = c_loc({name}__c)'], optional)
        self.passed.append(f'{name}__p')

    def texts(self, p, name):
        strings = p['type'] == 'const char *const *'
        self.dummy(name, 'character(*), intent(in)' + (', optional' if p['nullable'] else ''))
        self.declared[-1] += '(:)'
        kept = 'type(c_ptr)' if strings else 'type(adz_text)'
        self.local += ['character(kind=c_char), allocatable, target :: ' + name + '__l(:, :)',
                       f'{kept}, allocatable, target :: {name}__c(:)', f'type(c_ptr) :: {name}__p']
        self.before.append(f'{name}__p = c_null_ptr')
        self.kept(name, [f'allocate ({name}__l(len({name}) + 1, size({name})), {name}__c(size({name})))',
                         f'call adzf_texts({name}, {name}__l, {name}__c)'], p['nullable'])

    def result(self, p, name):
        self.results(p, name, array=False)

    def results(self, p, name, array=True):
        optional = ', optional' if p['nullable'] and not array else ''
        handle = p['type'].endswith('**')
        to = p['type'].split()[0]
        made = f'type({to})' if handle else NUMBERS[to].replace('c_size_t', 'c_int64_t')
        kept = 'type(c_ptr)' if handle else NUMBERS[to]
        shape = '(:)' if array else ''
        self.dummy(name, f'{made}, intent(inout){optional}')
        self.declared[-1] += shape
        self.local += [f'{kept}, allocatable, target :: {name}__c{shape}', f'type(c_ptr) :: {name}__p']
        element, start = (f'{name}%p', 'c_null_ptr') if handle else (name, literal(0, to))
        when = f'if (present({name})) ' if optional else ''
        unknown = array and p['length'].startswith('the ')
        room = ('(16)' if unknown else f'(size({name}))') if array else ''
        self.before += [f'{name}__p = c_null_ptr', f'allocate ({name}__c{room})', f'{name}__c = {start}']
        if array and not unknown and self.needed(p['length']):
            self.checks.append((name, False, '<', self.needed(p['length'])))
        self.before.append((f'if (size({name}__c) > 0) ' if array else when) + f'{name}__p = c_loc({name}__c)')
        self.passed.append(f'{name}__p')
        if unknown:
            self.after += [f'if (any_associated({name}__c(size({name}) + 1:))) then'] + ['  ' + s for s in self.refused(
                f"adzf_wrong_size('{self.name[4:]}', '{name}', int(size({name}), c_int64_t), "
                f"'at least ', count_associated({name}__c))")] + ['end if']
        self.after.append(f'{when}{element} = {name}__c' + (f'(:min(16, size({name})))' if unknown else ''))
        if unknown:
            self.after[-1] = f'{name}(:min(16, size({name})))%p = {name}__c(:min(16, size({name})))'

    # ---- the procedure

    def refused(self, code):
        """Statements that leave with an error: a status is the error's code, other results are empty."""
        type_ = self.function['result']['type']
        if type_ == 'adz_status':
            return [f'adz_r = {code}', 'return']
        lines = [f'adzf_code = {code}']
        if 'integer(c_int) :: adzf_code' not in self.local:
            self.local.append('integer(c_int) :: adzf_code')
        if type_ == 'double':
            lines.append('adz_r = transfer(-1_c_int64_t, 0d0)')
        elif type_ == 'bool':
            lines.append('adz_r = .false.')
        elif type_ in NUMBERS:
            lines.append('adz_r = 0')
        return lines + ['return']

    def checking(self):
        lines = []
        for name, optional, test, wanted in self.checks:
            condition = f'size({name}) {test} {wanted}'
            text = (f"adzf_wrong_size('{self.name[4:]}', '{name}', int(size({name}), c_int64_t), "
                    f"'{'at least ' if test == '<' else ''}', int({wanted}, c_int64_t))")
            lines += [f'if (present({name})) then'] if optional else []
            lines += [f'if ({condition}) then'] + ['  ' + line for line in self.refused(text)] + ['end if']
            lines += ['end if'] if optional else []
        return lines

    def outcome(self):
        """(declaration of the result, statements around the call)"""
        type_ = self.function['result']['type']
        call = f'raw_{self.name}({", ".join(self.passed)})'
        if type_ == 'void':
            return None, [f'call {call}']
        to = re.sub(r'^const ', '', type_).replace(' *', '')
        if type_ in ('const char *', 'adz_text'):
            return 'character(:), allocatable', [f'adz_r = adzf_{"string" if "*" in type_ else "text"}({call})']
        if type_.endswith('*') and to in self.f.table['handles']:
            return f'type({to})', [f'adz_r%p = {call}']
        if type_.endswith('*'):
            return 'type(c_ptr)', [f'adz_r = {call}']
        if type_ == 'bool':
            return 'logical', [f'adz_r = {call}']
        if type_ == 'size_t':
            return 'integer(c_int64_t)', [f'adz_r = int({call}, c_int64_t)']
        if type_ == 'adz_shape' and self.name != 'adz_shape_of':
            return 'integer(c_int64_t), allocatable', [f"adz_r = adzf_sizes({call})"]
        if type_ in ('adz_tensor_list', 'adz_named_list') and self.name != 'adz_tensor_list_of':
            element = 'adz_tensor' if type_ == 'adz_tensor_list' else 'adz_named_tensor'
            return f'type({element}), allocatable', [f'call adzf_{type_[4:]}({call}, adz_r)']
        return self.f.by_value(type_), [f'adz_r = {call}']

    def written(self):
        declared, call = self.outcome()
        shape = '(:)' if declared and declared.endswith('allocatable') and 'character' not in declared else ''
        checking = self.checking()
        kind = 'subroutine' if declared is None else 'function'
        name = self.name + ('__8' if self.wide else '')
        ends = '' if declared is None else ' result(adz_r)'
        lines = wrapped(f'! {self.function["summary"][:110]}', 2) if not self.wide else []
        lines += wrapped(f'{kind} {name}({", ".join(self.dummies)}){ends}', 2)
        lines += [f'    {d}' for d in self.declared]
        lines += [f'    {declared} :: adz_r{shape}'] if declared else []
        lines += [f'    {d}' for d in self.local]
        for statement in checking + self.before + call + self.after:
            lines += wrapped(statement, 4)
        return lines + [f'  end {kind}', ''] + (self.narrow(kind, declared, shape) if self.wide else [])

    def narrow(self, kind, declared, shape):
        """The same procedure for integers of the default kind."""
        ends = '' if declared is None else ' result(adz_r)'
        declarations = [re.sub('c_int64_t', 'c_int32_t', d) if re.search(r':: (\w+)', d).group(1) in self.wide else d
                        for d in self.declared]
        passed = [f'int({d}, c_int64_t)' if d in self.wide else d for d in self.dummies]
        call = f'{self.name}__8({", ".join(passed)})'
        statement = {None: f'call {call}'}.get(declared, f'adz_r = {call}')
        return wrapped(f'{kind} {self.name}__4({", ".join(self.dummies)}){ends}', 2) + \
            [f'    {d}' for d in declarations] + ([f'    {declared} :: adz_r{shape}'] if declared else []) + \
            wrapped(statement, 4) + [f'  end {kind}', '']
