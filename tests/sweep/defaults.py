#!/usr/bin/env python3
"""Writes a test of the defaults of every struct of options: the macro of the header against the function that
fills the struct, which reads the library's table of fields.

usage: defaults.py INCLUDE_DIR OUTPUT

A field's comment that ends with a default, as in "0 or more; 1e-5", must name that of the macro.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
from headers import Headers, Unknown, split, words # noqa: E402

HEAD = '''/* Made by defaults.py. */
#include <stdio.h>
#include <string.h>

{includes}

static int wrong;

static void compare(const char *field, const void *macro, const void *filled, size_t size)
{
    if (memcmp(macro, filled, size) != 0) {
        printf("%s: the macro and the table have different defaults\\n", field);
        ++wrong;
    }
}
'''

TEXT = '''
static void compare_text(const char *field, const char *macro, const char *filled)
{
    if (macro == NULL || filled == NULL) {
        compare(field, &macro, &filled, sizeof macro);
    } else {
        compare(field, macro, filled, strlen(macro) + 1);
    }
}
'''

TEST = '''
static void test_{name}(void)
{{
    static const {name} macro = {macro};
    {name} filled;
    size_t whole = sizeof filled, short_size = sizeof(size_t);
    memset(&filled, 0xA5, sizeof filled);
    {name}_init(&filled, sizeof filled);
{fields}
    memset(&filled, 0xA5, sizeof filled);
    {name}_init(&filled, sizeof(size_t)); /* a caller that knows the size alone */
    compare("{name} of an older program", &short_size, &filled, sizeof short_size);
    for (size_t i = sizeof(size_t); i < whole; ++i) {{
        if (((const unsigned char *)&filled)[i] != 0xA5) {{
            printf("{name}_init writes beyond the size that it was given\\n");
            ++wrong;
            break;
        }}
    }}
}}
'''


def macro_of(headers, name):
    macro = headers.defaults.get(name.upper())
    while macro is not None and not macro.startswith('{'):
        macro = headers.defaults[macro]
    return macro


def values_of(macro):
    """The text of each field's default."""
    found = [re.fullmatch(r'ADZ_MEMBER\((\w+), (.*)\)', part) for part in split(words(macro)[1:-1], ',')]
    return {m.group(1): m.group(2) for m in found}


def same(said, value):
    """Whether a comment's default is the macro's. Enumerations may be named by the end of their names."""
    try:
        return float(said) == float(value)
    except ValueError:
        return said == value


def check_comments(headers, name, values):
    seen = 0
    for field, value in values.items():
        said = re.search(r';\s+([\w.+-]+?)\.?$', headers.field_comments.get((name, field), ''))
        if said and re.fullmatch(r'-?[\d.]+(e[+-]?\d+)?|true|false|ADZ_\w+', said.group(1)):
            seen += 1
            if re.fullmatch(r'-?[\d.]+(e[+-]?\d+)?|true|false|ADZ_\w+', value) and not same(said.group(1), value):
                raise Unknown(f'the comment of {name}.{field} says {said.group(1)}, its macro {value}')
    return seen


def main(include, output):
    headers = Headers(pathlib.Path(include))
    functions = {name for _, name, _ in headers.functions}
    includes = '\n'.join(f'#include <{name}>' for name in headers.names)
    parts, calls, seen = [HEAD.replace('{includes}', includes), TEXT], [], 0
    for name in sorted(headers.structs):
        macro = macro_of(headers, name)
        if macro is None:
            continue
        if f'{name}_init' not in functions:
            raise Unknown(f'{name} has a macro of defaults, but no {name}_init')
        lines = []
        for type_, field in headers.structs[name]:
            members = [f'{field}.rank', f'{field}.sizes'] if type_ == 'adz_shape' else [field]
            if type_ == 'const char *':
                lines.append(f'    compare_text("{name}.{field}", macro.{field}, filled.{field});')
                continue
            lines += [f'    compare("{name}.{m}", &macro.{m}, &filled.{m}, sizeof macro.{m});' for m in members]
        parts.append(TEST.format(name=name, macro=name.upper(), fields='\n'.join(lines)))
        calls.append(f'    test_{name}();\n')
        seen += check_comments(headers, name, values_of(macro))
    if len(calls) < 80 or seen < 200:
        raise Unknown(f'only {len(calls)} structs with {seen} defaults in comments were found')
    parts.append('\nint main(void)\n{\n' + ''.join(calls) +
                 f'    printf("{len(calls)} structs of options, {seen} defaults in comments\\n");\n'
                 '    if (adz_error_code() != ADZ_OK) { /* a default outside its bounds */\n'
                 '        printf("%s\\n", adz_error_message());\n        ++wrong;\n    }\n'
                 '    return wrong != 0;\n}\n')
    text, path = ''.join(parts), pathlib.Path(output)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


if __name__ == '__main__':
    main(*sys.argv[1:])
