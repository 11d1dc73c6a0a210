#!/usr/bin/env python3
"""Compares the binary interface of the headers with src/abi.txt, the committed record of it.

    abi.py [--cc COMMAND]           compares; exits 1 if the record is another one
    abi.py --write [--cc COMMAND]   writes the record
    abi.py --declarations FILE      writes the interface for tools that read C without a preprocessor

The record is C: each type and each function as a program is compiled with it, without comments. Both interfaces are
compiled with functions that do nothing, and abidiff (Debian: abigail-tools) compares their layouts. Three rules are
added to those of abidiff:

- A struct that begins with its own size may grow at its end. The new members must begin behind the old struct: the
  padding of an old program's struct holds anything.
- A function may not move from one library to another.
- Numbers such as ADZ_MAX_RANK are part of the interface, because programs have them inside.

--write refuses a change that old programs do not survive, unless

- an entry of "Unreleased" in CHANGELOG.md names in `code` what has changed. The entry has to be written or reworded after
  the commit that last changed the record: an older one is about something else. Where git does not know the tree, any
  entry does.
- the name of the library (its SONAME) is another one than that of the last release in CHANGELOG.md, and another one than
  in the record. While a version with a new SONAME is in development ("-dev"), no program has been promised that
  SONAME, so the record may keep it.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from headers import Headers, words  # noqa: E402
from shelves import shelf_of  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent
FRAME = '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n'
# Versions of the headers and of the library may differ.
NO_CONSTANTS = ('ADZ_VERSION_MAJOR', 'ADZ_VERSION_MINOR', 'ADZ_VERSION_PATCH')
# The type is that of the MPI with which libadze-mpi is built. In the record a pointer stands for it.
COMMUNICATOR = 'typedef void *MPI_Comm;'
# abidiff's exit status: the sum of these.
FAILED, CHANGED = 1 | 2, 4 | 8


def declaration(type_, name):
    """C's text of a type with a name in it."""
    return type_.replace('(*)', f'(*{name})', 1) if '(*)' in type_ else f'{type_} {name}'.replace('* ', '*')


class Interface:
    """The interface of a folder of headers: its text, the structs with a size, and the functions of each library."""

    def __init__(self, folder, mpi=True):
        self.headers = Headers(folder, mpi)
        h = self.headers
        self.sized = [s for s, fields in h.structs.items() if fields[0] == ('size_t', 'size') and s not in h.aliases]
        by_value = {t for fields in h.structs.values() for t, _ in fields}
        by_value |= {t for result, _, parameters in h.functions for t in [result, *(t for t, _ in parameters)]}
        self.sized = [s for s in self.sized if s not in by_value]

    def number(self, text):
        text = self.headers.constants.get(text, text).strip('()').removesuffix('.0')
        return {'true': '1', 'false': '0'}.get(text, text)

    def struct(self, name, fields):
        lengths = {f: self.headers.arrays.get((name, f)) for _, f in fields}
        return [f'struct {name} {{',
                *(f'    {declaration(t, f)}' + (f'[{self.number(lengths[f])}]' if lengths[f] else '') + ';' for t, f in fields),
                '};']

    def enum(self, name):
        lines, number = [], -1
        for value, text, _ in self.headers.values[name]:
            number = int(text) if text else number + 1
            lines.append(f'    {value} = {number},')
        return [f'typedef enum {name} {{', *lines, f'}} {name};']

    def ordered(self):
        """The structs, each behind those of which it has one inside."""
        structs, done = self.headers.structs, []

        def add(name):
            if name in structs and name not in self.headers.aliases and name not in done:
                for type_, _ in structs[name]:
                    add(type_)
                done.append(name)
        for name in sorted(structs):
            add(name)
        return done

    def text(self, lengths=None):
        """The record. lengths: {struct: how many of its members to leave}."""
        h, lengths, lines = self.headers, lengths or {}, []
        structs = self.ordered()
        tags = set(re.findall(r'\bstruct (\w+)', str(h.structs))) - set(structs)
        lines += [f'struct {tag};' for tag in sorted(tags)]
        lines += [f'typedef struct {name} {name};' for name in sorted({*h.opaque, *structs})]
        lines += [f'typedef {other} {name};' for name, other in sorted(h.aliases.items())]
        for name in sorted(h.enums):
            lines += self.enum(name)
        lines += [f'typedef enum {{ {name} = {self.number(name)} }} constant_{name};' for name in sorted(h.constants)
                  if name not in NO_CONSTANTS]
        for name, (result, parameters) in sorted(h.callbacks.items()):
            lines.append(f'typedef {declaration(result, f"(*{name})")}({self.parameters(parameters)});')
        for name in structs:
            lines += self.struct(name, h.structs[name][:lengths.get(name)])
        libraries = {}
        if 'adze/mpi.h' in h.headers.values():
            lines.append(COMMUNICATOR)
        for result, name, parameters in h.functions:
            shelf = 'mpi' if h.headers[name] == 'adze/mpi.h' else shelf_of(h.headers[name])
            libraries.setdefault('libadze-' + shelf if shelf else 'libadze', []).append(
                f'{declaration(result, name)}({self.parameters(parameters)});')
        for library in sorted(libraries):
            lines += [f'/* {library} */', *sorted(libraries[library], key=function_name)]
        return '\n'.join(lines) + '\n'

    @staticmethod
    def parameters(parameters):
        return ', '.join(declaration(t, p) for t, p in parameters) or 'void'


def function_name(line):
    return re.search(r'\b(adz_\w+)\(', line).group(1)


PROTOTYPE = re.compile(r'^(?!typedef|struct|/\*)(\w.*\));$', re.M)


def functions(text):
    """{function: its library} of a record."""
    found, library = {}, None
    for line in text.splitlines():
        if line.startswith('/* libadze'):
            library = line.split()[1]
        elif PROTOTYPE.match(line):
            found[function_name(line)] = library
    return found


def fields(text):
    """{struct: how many members it has} of a record."""
    return {name: body.count(';') - len(re.findall(r'\(\*\w+\)\([^)]*;', body))
            for name, body in re.findall(r'^struct (\w+) \{\n(.*?)^\};', text, re.M | re.S)}


def stub(text):
    """A library with the interface of a record, whose functions do nothing. Each type has a function that uses it."""
    types = re.findall(r'^typedef struct (\w+) \1;|^\} (\w+);|^typedef enum \{.*\} (\w+);|^typedef .*?\(\*(adz_\w+)\)\(|'
                       r'^typedef \w+ (\w+);', text, re.M)
    uses = [f'void use_{name}({name} *x);' for name in (''.join(t) for t in types)]
    return PROTOTYPE.sub(r'\1 { __builtin_trap(); }', text + '\n'.join(uses) + '\n')


class Compared:
    """Interfaces as files that abidiff reads, in a folder that ends with this."""

    def __init__(self, cc):
        self.cc, self.holder = cc.split(), tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.holder.cleanup()

    def compiled(self, name, record):
        return self.compile_text(name, FRAME + stub(record))

    def compile_text(self, name, text, *options):
        source, library = self.folder / f'{name}.c', self.folder / f'{name}.so'
        source.write_text(text, encoding='utf-8')
        subprocess.run([*self.cc, '-w', '-g', '-O0', '-shared', '-fPIC', *options, source, '-o', library], check=True)
        return library

    def differences(self, old, new):
        """What abidiff says, "" if an old program works with the new library."""
        done = subprocess.run(['abidiff', '--no-added-syms', '--no-show-locs', old, new], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode & FAILED:
            sys.exit(f'abidiff failed: {done.stdout}')
        return done.stdout.strip() if done.returncode & CHANGED else ''


def layouts(library):
    """{struct: (its bytes, {member: its offset})}"""
    done = subprocess.run(['abidw', '--no-corpus-path', library], check=True, stdout=subprocess.PIPE)
    found = {}
    for struct in ElementTree.fromstring(done.stdout).iter('class-decl'):
        if struct.get('size-in-bits'):
            found[struct.get('name')] = (int(struct.get('size-in-bits')), {
                m.find('var-decl').get('name'): int(m.get('layout-offset-in-bits')) for m in struct.findall('data-member')})
    return found


def broken(record, interface, cc):
    """Yields what programs that were compiled with the record do not survive: texts."""
    with Compared(cc) as compared:
        yield from broken_layouts(record, interface, compared)
    libraries = functions(interface.text())
    for name, library in functions(record).items():
        if libraries.get(name, library) != library:
            yield f'{name} has moved from {library} to {libraries[name]}'


def broken_layouts(record, interface, compared):
    old = fields(record)
    now = interface.headers.structs
    grown = {s: old[s] for s in interface.sized if s in old and len(now[s]) > old[s]}
    before = compared.compiled('old', record)
    said = compared.differences(before, compared.compiled('new', interface.text(grown)))
    if said:
        yield said
    if grown:
        old_layouts, new_layouts = layouts(before), layouts(compared.compiled('grown', interface.text()))
        for name, count in grown.items():
            behind, offsets = old_layouts[name][0], new_layouts[name][1]
            yield from (f'struct {name}: {member} lies in the padding of the old struct, which old programs leave undefined. '
                        'Put a member before it that fills the padding.'
                        for _, member in now[name][count:] if offsets[member] < behind)


def version_of(top):
    return re.search(r"version: '([^']+)'", (top / 'meson.build').read_text(encoding='utf-8')).group(1)


def soname(version):
    """As src/meson.build makes it."""
    parts = version.split('-')[0].split('.')
    return 'libadze.so.' + ('.'.join(parts[:2]) if parts[0] == '0' else parts[0])


def first_line(version):
    return f'/* The binary interface of {soname(version)} and its shelves, written by tools/abi.py. */\n'


def changed_names(record, text):
    """The types and functions of a record whose declarations are others, or none, now."""
    def declared(whole):
        found = {name: body for name, body in re.findall(r'^struct (\w+) \{\n(.*?)^\};', whole, re.M | re.S)}
        found.update((name, body) for name, body in re.findall(r'^typedef enum (\w+) \{\n(.*?)^\}', whole, re.M | re.S))
        found.update((name, line) for line in whole.splitlines()
                     for name in re.findall(r'constant_(\w+);$|^typedef .*\(\*(adz_\w+)\)\(', line) for name in name if name)
        found.update((function_name(line), line) for line in whole.splitlines() if PROTOTYPE.match(line))
        return found
    old, now = declared(record), declared(text)
    return sorted(name for name in old if old[name] != now.get(name))


def sections(changelog):
    """The sections of CHANGELOG.md: pairs of the title and the entries, each in one line."""
    for section in changelog.split('\n## ')[1:]:
        title, _, body = section.partition('\n')
        yield title, [' '.join(entry.split()) for entry in re.split(r'^- |^#.*', body, flags=re.M) if entry.strip()]


def entries_of_the_record(top):
    """The entries of CHANGELOG.md in the commit that last changed the record: none where git does not know it."""
    def git(*arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
        done = subprocess.run(['git', '-C', top, *arguments], env=environment, text=True, encoding='utf-8',
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return '' if done.returncode else done.stdout
    commit = git('log', '-1', '--format=%H', '--', 'src/abi.txt').strip() if shutil.which('git') else ''
    return {entry for _, entries in sections(git('show', f'{commit}:./CHANGELOG.md')) for entry in entries} if commit else set()


def refusals(record, interface, top, version, breaks):
    """Why --write may not replace a record: texts."""
    if not breaks:
        return
    (_, unreleased), *released = sections((top / 'CHANGELOG.md').read_text(encoding='utf-8'))
    old = entries_of_the_record(top)
    new = [entry for entry in unreleased if entry not in old]
    names = changed_names(record, interface.text())
    missing = [n for n in names if not any(re.search(rf'`[^`]*\b{n}\b', entry) for entry in new)]
    if missing:
        yield ('CHANGELOG.md, "Unreleased", does not say what became of ' + ', '.join(f'`{n}`' for n in missing) +
               (' since the record was written: add an entry, or reword one' if old else ''))
    same = first_line(version) == record.split('\n')[0] + '\n' and '-' not in version
    if same or any(soname(title.split()[0]) == soname(version) for title, _ in released[:1]):
        yield f'old programs would load {soname(version)} and fail: raise the version in meson.build and include/adze/base.h'


def declarations(version, interface):
    """The interface as adze.cdef has it: complete but for libadze-mpi and numbers that no int holds."""
    text = ''.join(line + '\n' for line in interface.text().splitlines() if 'INT64_MIN' not in line)
    return (f'/* The interface of adze {version} and its shelves in plain C, for tools that read declarations without a\n'
            ' * preprocessor, such as ffi.cdef of LuaJIT. */\ntypedef struct _IO_FILE FILE;\n' + text)


def write(path, text):
    """Replaces a file if its text is another, so that a build does not repeat what depends on it."""
    if not path.exists() or path.read_text(encoding='utf-8') != text:
        path.write_text(text, encoding='utf-8')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--declarations', type=pathlib.Path)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--top', type=pathlib.Path, default=TOP, help='the tree to look at')
    given = parser.parse_args()
    top, interface = given.top, Interface(given.top / 'include', mpi=not given.declarations)
    path, version = top / 'src/abi.txt', version_of(top)
    if given.declarations:
        write(given.declarations, declarations(version, interface))
        return 0
    record = path.read_text(encoding='utf-8') if path.exists() else ''
    text = first_line(version) + interface.text()
    if text == record:
        print('src/abi.txt is the interface of the headers')
        return 0
    if shutil.which('abidiff') is None:
        print('src/abi.txt is not the interface of the headers, and abidiff, which would say what that means, is missing '
              '(Debian: abigail-tools)')
        return 1
    breaks = list(broken(record, interface, given.cc)) if record else []
    print('\n'.join(breaks))
    if not given.write:
        if breaks:
            print('\nPrograms that were compiled before would fail. If that is meant, CHANGELOG.md says what has changed, and '
                  'tools/abi.py --write writes it into src/abi.txt.')
        elif text != record:
            print('Old programs go on working. src/abi.txt lacks what is new: python3 tools/abi.py --write')
        return 1
    refused = list(refusals(record, interface, top, version, breaks))
    print('\n'.join(refused))
    if not refused:
        path.write_text(text, encoding='utf-8')
    return bool(refused)


if __name__ == '__main__':
    sys.exit(main())
