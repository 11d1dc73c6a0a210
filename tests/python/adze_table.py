"""The library through adze.json, the table of its interface: ctypes has every function, struct, enum and callback.

    lib = Library('libadze.so', 'adze.json', 'libadze-zoo.so')
    x = lib.adz_ones(lib.shape(2, 3), lib.ADZ_F64)

Functions that return an adz_status, or a pointer, raise Failed with the recorded error.
"""
import ctypes
import json
import pathlib
import re

NUMBERS = {'bool': ctypes.c_bool, 'int': ctypes.c_int, 'int32_t': ctypes.c_int32, 'int64_t': ctypes.c_int64,
           'uint8_t': ctypes.c_uint8, 'uint16_t': ctypes.c_uint16, 'uint32_t': ctypes.c_uint32,
           'uint64_t': ctypes.c_uint64, 'size_t': ctypes.c_size_t, 'float': ctypes.c_float,
           'double': ctypes.c_double, 'char': ctypes.c_char, 'void': None}


class Failed(Exception):
    """A call that failed: the name of its status, and the message."""


class Library:
    def __init__(self, library, table, *shelves):
        with open(table, encoding='utf-8') as file:
            self.table = json.load(file)
        self.loaded = {'adze': ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)}
        for shelf in shelves: # libadze-zoo.so and others over libadze
            name = re.search(r'lib(adze-\w+)', pathlib.Path(shelf).name).group(1)
            self.loaded[name] = ctypes.CDLL(str(shelf))
        self.types = dict(NUMBERS)
        for enum in self.table['enums'].values():
            for name, value in enum['values'].items():
                setattr(self, name, value['value'])
        for name, value in self.table['constants'].items():
            setattr(self, name, value)
        self.make_types()
        for name, function in self.table['functions'].items():
            if function['library'] not in self.loaded:
                continue
            setattr(self, name, self.function(name, function))

    def make_types(self):
        # Classes first, fields after them: a struct may point to itself.
        for name in self.table['handles']:
            self.types[name] = type(name, (ctypes.Structure,), {})
        for name in self.table['enums']:
            self.types[name] = ctypes.c_int
        for name in self.table['structs']:
            self.types[name] = type(name, (ctypes.Structure,), {})
            setattr(self, name, self.types[name])
        for name, callback in self.table['callbacks'].items():
            self.types[name] = self.prototype(callback)
            setattr(self, name, self.types[name])
        waiting = dict(self.table['structs'])
        while waiting: # a struct is complete before another holds it
            name = next(n for n, s in waiting.items() if not any(f['type'] in waiting for f in s['fields']))
            fields = []
            for field in waiting.pop(name)['fields']:
                kind = self.prototype(field['function']) if 'function' in field else self.type(field['type'])
                fields.append((field['name'], kind * field['length'] if 'length' in field else kind))
            self.types[name]._fields_ = fields

    def type(self, text):
        """The ctypes type of a type in C."""
        text = re.sub(r'\b(const|struct)\b', '', text).replace(' ', '')
        if not text.endswith('*'):
            return self.types[text]
        pointed = text[:-1]
        if pointed == 'char':
            return ctypes.c_char_p
        if pointed in ('void', 'FILE') or pointed not in self.types and not pointed.endswith('*') or '(' in pointed:
            return ctypes.c_void_p
        return ctypes.POINTER(self.type(pointed))

    def prototype(self, callback):
        result = self.type(callback['result'])
        if hasattr(result, 'contents'): # a callback returns the address, as ctypes wants it
            result = ctypes.c_void_p
        return ctypes.CFUNCTYPE(result, *(self.type(p['type']) for p in callback['parameters']))

    def function(self, name, function):
        call = getattr(self.loaded[function['library']], name)
        buffers = {'buffer'}
        call.argtypes = [ctypes.c_void_p if p['role'] in ('callback', 'stream', 'bytes') or p['role'] in buffers
                         else self.type(p['type']) for p in function['parameters']]
        call.restype = self.type(function['result']['type'])
        type_ = function['result']['type']
        if type_ == 'adz_status' and not name.startswith('adz_error_'):
            call.errcheck = self.status
        elif type_.endswith('*') and function['result']['nullable']:
            call.errcheck = self.pointer
        return call

    def status(self, result, call, _):
        if result != self.ADZ_OK:
            self.fail(call)
        return result

    def pointer(self, result, call, _):
        if not result and self.loaded['adze'].adz_error_code() != self.ADZ_OK:
            self.fail(call)
        return result

    def fail(self, call):
        message = ctypes.create_string_buffer(1000)
        status = self.adz_error_take(message, len(message))
        raise Failed(f'{self.adz_status_name(status).decode()}: {message.value.decode()}')

    def shape(self, *sizes):
        return self.adz_shape_of(len(sizes), (ctypes.c_int64 * len(sizes))(*sizes))

    def options(self, name, **fields):
        """A struct of options with its defaults, of which some fields are set."""
        made = self.types[name]()
        getattr(self, self.table['structs'][name]['init'])(made, ctypes.sizeof(made))
        for field, value in fields.items():
            setattr(made, field, value)
        return made
