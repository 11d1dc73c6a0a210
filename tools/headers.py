"""Reads the public headers: functions, structs, enums, callbacks, constants, and their comments.

Everything that is derived from the headers reads them by this module: the sweep of wrong arguments, the
table of the interface (adze.json) and the Fortran module. A declaration that is not understood is an error.
"""
import re

# Functions that take a reference over, failure included: by name, then by parameter.
TAKEN = {'adz_module_add_child': ['child'], 'adz_module_set_child': ['child'],
         'adz_sequential_new': ['modules'], 'adz_sequential_append': ['module'],
         'adz_module_list_new': ['modules'], 'adz_module_list_append': ['module'],
         'adz_module_dict_new': ['modules'], 'adz_module_dict_set': ['module'],
         'adz_module_register_parametrization': ['parametrization'],
         'adz_fastai_sequential_ex_new': ['modules'], 'adz_fastai_sequential_rnn_new': ['modules'],
         'adz_fastai_embedding_dropout_new': ['emb'], 'adz_fastai_weight_dropout_new': ['module'],
         'adz_fastai_multi_batch_encoder_new': ['module'],
         'adz_activation_checkpoint_new': ['module'], 'adz_recurrent_new': ['cell'],
         'adz_transformer_encoder_new': ['layer', 'norm'], 'adz_transformer_decoder_new': ['layer', 'norm'],
         'adz_triplet_margin_with_distance_loss_new': ['distance_function'],
         'adz_labml_transformer_layer_new': ['self_attn', 'feed_forward'],
         'adz_labml_encoder_new': ['layer'], 'adz_labml_decoder_new': ['layer'],
         'adz_labml_encoder_decoder_new': ['encoder', 'decoder', 'src_embed', 'tgt_embed',
                                           'generator'],
         'adz_labml_autoregressive_model_new': ['src_embed', 'encoder', 'generator'],
         'adz_fastai_bn_drop_lin_options': ['actn']}

COMMENT = r'/\*.*?\*/|//[^\n]*'


class Unknown(Exception):
    pass


def words(text):
    return ' '.join(text.split())


def split(text, at):
    """The parts of a list, of which some may have parentheses or braces, or be a character in quotes."""
    parts, depth, part = [], 0, ''
    for letter in text:
        depth += (letter in '({') - (letter in ')}')
        if letter == at and depth == 0 and part.count("'") != 1:
            parts.append(words(part))
            part = ''
        else:
            part += letter
    return [p for p in parts + [words(part)] if p]


def declared(text):
    """(type, name) of "const char *path", "bool on" or "void (*deleter)(void *data)"."""
    pointer = re.match(r'.*?\(\*(\w+)\)\(', text)
    if pointer:
        return words(text.replace(pointer.group(1), '', 1)), pointer.group(1)
    found = re.match(r'(.*?)(\w+)(\[\w+\])?\Z', text)
    return words(found.group(1)), found.group(2)


def plain(comment):
    """The text of a comment, without its stars."""
    lines = [re.sub(r'^\s*\* ?', '', line) for line in comment.split('\n')]
    return '\n'.join(lines).strip()


class Headers:
    """What the headers below a folder declare.

    functions: (result, name, [(type, parameter)])    structs: {name: [(type, field)]}
    enums: {name: how many values}                    names: the headers, relative to the folder
    arrays: {(struct, field): length}, of fields that are arrays
    comments: {function or type: its comment}         headers: {function: its header}
    field_comments: {(struct, field): comment}        values: {enum: [(name, expression, comment)]}
    callbacks: {name: (result, [(type, parameter)])}  opaque: names of types without a definition
    constants: {name: expression}                     defaults: {macro: text of the initialiser}
    aliases: {type: the type that it is another name of}
    """

    def __init__(self, folder, mpi=False):
        """mpi: whether adze/mpi.h is read, which includes the header of an MPI."""
        self.functions, self.structs, self.enums, self.names = [], {}, {}, []
        self.arrays, self.comments, self.headers, self.field_comments = {}, {}, {}, {}
        self.values, self.callbacks, self.opaque = {}, {}, []
        self.constants, self.defaults, self.aliases = {}, {}, {}
        tokens = 0
        for path in sorted(folder.rglob('*.h')):
            if path.name == 'mpi.h' and not mpi: # tests/mpi calls its functions
                continue
            self.names.append(path.relative_to(folder))
            tokens += self.read(path.read_text(encoding='utf-8'), path.relative_to(folder))
        if tokens != len(self.functions) or tokens == 0:
            raise Unknown(f'the headers say ADZ_API {tokens} times, '
                          f'but {len(self.functions)} functions were read')

    def read(self, whole, header):
        """Reads one header, and returns how often it says ADZ_API."""
        text = re.sub(COMMENT, '', whole, flags=re.S)
        self.read_macros(text)
        text = re.sub(r'^[ \t]*#(?:.*\\\n)*.*$', '', text, flags=re.M)
        for result, name, arguments in re.findall(
                r'\bADZ_API\s+([^;{]*?)\b(adz_\w+)\(((?:[^();]|\([^()]*\))*)\);', text):
            arguments = [] if words(arguments) == 'void' else split(arguments, ',')
            self.functions.append((words(result), name, [declared(a) for a in arguments]))
            self.headers[name] = str(header)
        for body, name in re.findall(r'typedef struct \w*\s*\{(.*?)\n\} (\w+);', text, flags=re.S):
            self.structs[name] = [declared(f) for f in split(body, ';')]
            for field, length in re.findall(r'(\w+)\[(\w+)\];', body):
                self.arrays[name, field] = length
        self.opaque += [name for tag, name in re.findall(r'typedef struct (\w+) (\w+);', text)
                        if not re.search(rf'\bstruct {tag}\s*\{{', text)]
        for other, name in re.findall(r'typedef (adz_\w+) (adz_\w+);', text):
            self.structs.update({name: self.structs[other]} if other in self.structs else {})
            self.aliases[name] = other
        for name, body in re.findall(r'typedef enum (\w+)\s*\{(.*?)\}', text, flags=re.S):
            self.enums[name] = len(split(body, ','))
        for result, name, arguments in re.findall(
                r'typedef ([^;{}()]*?)\(\*(adz_\w+)\)\(((?:[^();]|\([^()]*\))*)\);', text):
            arguments = [] if words(arguments) == 'void' else split(arguments, ',')
            self.callbacks[name] = (words(result), [declared(a) for a in arguments])
        self.read_comments(re.sub(r'^[ \t]*#(?:.*\\\n)*.*$', '', whole, flags=re.M))
        return len(re.findall(r'\bADZ_API\b', text))

    def read_macros(self, text):
        for name, value in re.findall(r'^#define (ADZ_\w+)[ \t]+((?:.*\\\n)*.*)$', text, flags=re.M):
            value = words(value.replace('\\\n', ' '))
            if value.startswith('{') or re.fullmatch(r'ADZ_\w+_OPTIONS', value):
                self.defaults[name] = value
            elif re.fullmatch(r'\(?-?[\d.]+\)?|INT64_MIN|true|false', value):
                self.constants[name] = value

    def read_comments(self, text):
        for comment, rest in re.findall(r'^/\*\*((?:[^*]|\*(?!/))*)\*/\s*([^;{/]*)', text, flags=re.M):
            found = re.match(r'ADZ_API\s+[^(]*?\b(adz_\w+)\(', rest) or \
                re.match(r'typedef (?:struct|enum) (\w+)', rest) or \
                re.match(r'typedef [^(]*?\(\*(\w+)\)', rest) or re.match(r'typedef adz_\w+ (\w+)', rest)
            if found:
                self.comments[found.group(1)] = plain(comment)
        text = re.sub(r'^/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*', '', text, flags=re.M)
        inside = r'((?:[^*]|\*(?!/))*)\*/'
        for body, name in re.findall(r'typedef struct \w*\s*\{(.*?)\n\} (\w+);', text, flags=re.S):
            for before, field, behind in re.findall(
                    rf'(?:/\*\*(?!<){inside})?([^;/]+);\s*(?:/\*\*<{inside})?', body):
                self.field_comments[name, declared(words(field))[1]] = words(plain(before + behind))
        for name, body in re.findall(r'typedef enum (\w+)\s*\{(.*?)\}', text, flags=re.S):
            self.values[name] = [(value, words(number), words(plain(comment))) for value, number, comment in
                                 re.findall(rf'(ADZ_\w+)\s*(?:=([^,/]+))?,?\s*(?:/\*\*<{inside})?', body)]
            if len(self.values[name]) != self.enums[name]:
                raise Unknown(f'{name}: {self.enums[name]} values, but {len(self.values[name])} were read')
