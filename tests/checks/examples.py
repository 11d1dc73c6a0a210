#!/usr/bin/env python3
"""Compiles and runs the examples of a document, or of the public headers' comments.

    examples.py WORK_DIR FILE_OR_FOLDER -- COMPILER_COMMAND...

In Markdown an example is a block that opens with ```c; a ```text block after it is what it prints.
In a header it stands between @code and @endcode. A block with a main is a program; of any other,
definitions that start in the first column (functions, types, #define, static data) stay outside and
the rest becomes the body of a main in which every error ends the program. A program is compiled
exactly as it stands, in strict C11 with every warning an error: it must include what it uses.

A comment before a block of Markdown says more of it: <!-- example: continues --> puts the blocks
before it, back to the last one that does not continue, in front of it;
<!-- example: errors --> lets calls fail.

What is printed agrees when it is the same but for blanks at line ends and for numbers with a point,
which may differ by 1 in 100 (processors and BLAS libraries round differently) or by 1e-4.
WORK_DIR/OUTPUT holds what the programs of the last run wrote.
"""
import concurrent.futures
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

MARK = '---- here the last block starts ----'
HEAD = """#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <adze/adze.h>

static void die(adz_status status, const char *message, void *user)
{
    fprintf(stderr, "%s (%s)\\n", message, adz_status_name(status));
    exit(1);
}
"""
WHOLE_FLAGS = ['-std=c11', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror']
BODY_FLAGS = ['-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-unused-variable',
              '-Wno-unused-but-set-variable', '-Wno-unused-function', '-Wno-unused-parameter',
              '-D_GNU_SOURCE']


class Example:
    def __init__(self, path, line, text, directive=''):
        self.path, self.line, self.text = path, line, text
        self.continues = 'continues' in directive
        self.errors = 'errors' in directive
        self.expected = None
        self.before = []  # the examples that this one continues

    def name(self):
        return f'{self.path}:{self.line}'

    def is_program(self):
        return re.search(r'^int main\(', self.text, re.M) is not None


def from_markdown(path):
    """The C blocks of a document, each with the text block that follows it."""
    examples, directive, language, lines, start = [], '', None, [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = re.match(r'```\s*(\S*)', line)
        if fence is None:
            if language is not None:
                lines.append(line)
            elif line.startswith('<!-- example:'):
                directive = line
            continue
        if language is None:
            language, lines, start = fence.group(1), [], number + 1
            continue
        text = '\n'.join(lines) + '\n'
        if language == 'c':
            examples.append(Example(path, start, text, directive))
            directive = ''
            if examples[-1].continues:
                examples[-1].before = examples[-2].before + [examples[-2]]
        elif language == 'text' and examples and examples[-1].expected is None:
            examples[-1].expected = text
        language = None
    return examples


def from_header(path):
    examples = []
    source = path.read_text()
    for match in re.finditer(r'@code\n(.*?)@endcode', source, re.S):
        lines = [re.sub(r'^ \* ?', '', line) for line in match.group(1).splitlines()]
        text = '\n'.join(line for line in lines if line.strip(' *')) + '\n'
        # comments cannot nest, so examples in them write their own as //
        examples.append(Example(path, source[:match.start()].count('\n') + 2, text))
    return examples


def split(text):
    """(definitions, statements) of a block."""
    outside, inside = [], []
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        line = lines[i]
        following = lines[i + 1] if i + 1 < len(lines) else ''
        function = re.match(r'\w[\w *]*\(', line) and (following == '{' or (
            following[:1] == ' ' and i + 2 < len(lines) and lines[i + 2] == '{' and
            not line.endswith(';')))
        if line.startswith('#'):
            outside.append(line)
        elif function or re.match(r'(static|typedef|struct|enum) ', line):
            while True:
                outside.append(lines[i])
                done = lines[i].startswith('}') or (lines[i].endswith(';') and
                                                    lines[i] == line and '{' not in line) or \
                    (lines[i].endswith('};') and lines[i] == line)
                if done or i + 1 == len(lines):
                    break
                i += 1
        else:
            inside.append(line)
        i += 1
    return '\n'.join(outside) + '\n', '\n'.join(inside) + '\n'


def program(example):
    if example.is_program():
        return example.text
    definitions, body = '', ''
    for part in example.before + [example]:
        outside, inside = split(part.text)
        definitions += outside
        if part is example and example.before:
            body += f'puts("{MARK}");\n'
        body += inside
    begin = '' if example.errors else '    adz_on_error(die, NULL);\n'
    return f'{HEAD}\n{definitions}\nint main(void)\n{{\n{begin}{body}    return 0;\n}}\n'


NUMBER = re.compile(r'[-+]?\d*\.\d+(?:e[-+]?\d+)?')


def agrees(expected, got):
    """Line by line, and within lines number by number."""
    expected, got = expected.rstrip().splitlines(), got.rstrip().splitlines()
    if len(expected) != len(got):
        return False
    for want, have in zip(expected, got):
        if ' '.join(NUMBER.sub('#', want).split()) != ' '.join(NUMBER.sub('#', have).split()):
            return False
        for a, b in zip(NUMBER.findall(want), NUMBER.findall(have)):
            if not math.isclose(float(a), float(b), rel_tol=1e-2, abs_tol=1e-4):
                return False
    return True


def compile_example(job):
    example, source, binary, command = job
    source.write_text(program(example))
    words = next(i for i, word in enumerate(command) if word.startswith('-'))  # ccache cc, or cc
    flags = WHOLE_FLAGS if example.is_program() else BODY_FLAGS
    done = subprocess.run([*command[:words], *flags, str(source), '-o', str(binary),
                           *command[words:]], capture_output=True, text=True,
                          check=False)
    return '' if done.returncode == 0 else done.stderr


def run_example(example, binary, folder):
    environment = dict(os.environ, LC_ALL='C')
    try:
        done = subprocess.run([str(binary)], cwd=folder, env=environment, capture_output=True,
                              text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return 'is still running after two minutes'
    if done.returncode != 0:
        return f'ended with {done.returncode}: {done.stderr}'
    printed = done.stdout.split(MARK + '\n')[-1]
    if example.expected is not None and not agrees(example.expected, printed):
        return f'printed\n{printed}instead of\n{example.expected}'
    return ''


def main():
    work, where = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    command = sys.argv[sys.argv.index('--') + 1:]
    shutil.rmtree(work, ignore_errors=True)
    output = work / 'OUTPUT'
    output.mkdir(parents=True)
    if where.is_dir():
        examples = [e for header in sorted(where.rglob('*.h')) for e in from_header(header)]
    else:
        examples = from_markdown(where)
    jobs = [(e, work / f'{i}.c', work / f'{i}', command) for i, e in enumerate(examples)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        errors = list(pool.map(compile_example, jobs))
    for (example, source, binary, _), error in zip(jobs, errors):
        error = f'does not compile ({source}):\n{error}' if error else \
            run_example(example, binary, output)  # in order: one may read what another wrote
        if error:
            failures += 1
            print(f'{example.name()}: {error}')
    compared = sum(e.expected is not None for e in examples)
    print(f'{len(examples)} examples, {compared} with what they print, {failures} failures')
    return failures > 0 or not examples


if __name__ == '__main__':
    sys.exit(main())
