#!/usr/bin/env python3
"""Compiles and runs the examples of a document, or of the public headers' comments.

    examples.py WORK_DIR FILE_OR_FOLDER PKG_CONFIG_DIR COMPILER...

In Markdown an example is a block that opens with ```c; a ```text block after it is what it prints. It is
compiled as a reader would who does what the page says, and with every warning an error in strict C11:

- A block with a main is a program. The first one of a page is the frame of its other blocks.
- A block that begins with FRAME_ABOVE goes above the frame's main, as do further ones that follow it.
- Any other block replaces the frame's line that contains FRAME_LINE.
- The command is the page's own line that begins with `cc program.c`.

In a header an example stands between @code and @endcode. Definitions that start in the first column
(functions, types, #define, static data) stay outside, and the rest becomes the body of a main in which every
error ends the program.

What is printed agrees when it is the same but for blanks at line ends and for numbers with a point,
which may differ by 1 in 100 (processors and BLAS libraries round differently) or by 1e-4.
PKG_CONFIG_DIR has the .pc file of the library. WORK_DIR/OUTPUT holds what the programs of the last run wrote.
"""
import concurrent.futures
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
from shelves import shelf_of  # noqa: E402

FRAME_ABOVE = '/* above main */\n'
FRAME_LINE = '/* a block replaces this line */'
HEAD = """#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <adze/adze.h>
"""
WHOLE_FLAGS = ['-std=c11', '-O1', '-Wall', '-Wextra', '-Wpedantic', '-Werror']
BODY_FLAGS = ['-std=c11', '-O1', '-Wall', '-Wextra', '-Werror', '-Wno-unused-variable',
              '-Wno-unused-but-set-variable', '-Wno-unused-function', '-Wno-unused-parameter',
              '-D_GNU_SOURCE']


HEADER_COMMAND = 'cc program.c $(pkg-config --cflags --libs {}) -lm -lpthread -o program'


class Example:
    def __init__(self, path, line, program, command, flags):
        self.path, self.line, self.program = path, line, program
        self.command, self.flags = command, flags
        self.expected = None

    def name(self):
        return f'{self.path}:{self.line}'


def is_program(text):
    return re.search(r'^int main\(', text, re.M) is not None


def from_markdown(path):
    """The C blocks of a document, each with the text block that follows it."""
    examples, language, lines, start = [], None, [], 0
    frame, above = None, ''
    page = path.read_text()
    command = re.search(r'(?:^|`)(cc program\.c [^`\n]*)', page, re.M)
    if command is None:
        sys.exit(f'{path}: no line says how to compile program.c')
    for number, line in enumerate(page.splitlines(), 1):
        fence = re.match(r'```\s*(\S*)', line)
        if fence is None:
            if language is not None:
                lines.append(line)
            continue
        if language is None:
            language, lines, start = fence.group(1), [], number + 1
            continue
        text = '\n'.join(lines) + '\n'
        if language == 'c' and text.startswith(FRAME_ABOVE):
            above += text + '\n'
        elif language == 'c':
            if is_program(text):
                frame, program = frame or text, text
            elif frame is None:
                sys.exit(f'{path}:{start}: no program comes first, into which this block would go')
            else:
                program = in_frame(frame, above, text)
            above = ''
            examples.append(Example(path, start, program, command.group(1), WHOLE_FLAGS))
        elif language == 'text' and examples and examples[-1].expected is None:
            examples[-1].expected = text
        language = None
    if above:
        sys.exit(f'{path}: after the last block above main there is none that goes into main')
    return examples


def in_frame(frame, above, body):
    """The frame with definitions above its main, and statements instead of FRAME_LINE."""
    line = re.search(rf'^.*{re.escape(FRAME_LINE)}\n', frame, re.M)
    main = re.search(r'^int main\(', frame, re.M)
    if line is None:
        sys.exit(f'the page has blocks for a main, and its first program no line with {FRAME_LINE}')
    return frame[:main.start()] + above + frame[main.start():line.start()] + body + frame[line.end():]


def from_header(path, top):
    """The examples in the comments of a header below top, the folder adze."""
    examples = []
    source, shelf = path.read_text(), shelf_of('adze/' + path.relative_to(top).as_posix())
    command = HEADER_COMMAND.format('adze-' + shelf if shelf else 'adze')
    head = HEAD + (f'#include <adze/{shelf}.h>\n' if shelf else '')
    for match in re.finditer(r'@code\n(.*?)@endcode', source, re.S):
        lines = [re.sub(r'^ \* ?', '', line) for line in match.group(1).splitlines()]
        text = '\n'.join(line for line in lines if line.strip(' *')) + '\n'
        # comments cannot nest, so examples in them write their own as //
        flags = WHOLE_FLAGS if is_program(text) else BODY_FLAGS
        examples.append(Example(path, source[:match.start()].count('\n') + 2, wrapped(text, head), command, flags))
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
        elif function or re.match(r'(static|typedef|struct|enum) |ADZ_C_TEXT\(', line):
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


def wrapped(text, head=HEAD):
    """The example of a comment as a program."""
    if is_program(text):
        return text
    definitions, body = split(text)
    return f'{head}\n{definitions}\nint main(void)\n{{\n    adz_on_error(adz_die, NULL);\n{body}    return 0;\n}}\n'


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
    """Runs the example's command in its folder, where cc is a function with the flags."""
    example, folder, compiler, environment = job
    folder.mkdir()
    (folder / 'program.c').write_text(example.program)
    cc = ' '.join(shlex.quote(word) for word in [*compiler, *example.flags])
    done = subprocess.run(['sh', '-c', f'cc() {{ command {cc} "$@"; }}\n{example.command}'], cwd=folder, text=True,
                          env=environment, capture_output=True, check=False)
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
    if example.expected is not None and not agrees(example.expected, done.stdout):
        return f'printed\n{done.stdout}instead of\n{example.expected}'
    return ''


def main():
    work, where = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    pkg_config = {**os.environ, 'PKG_CONFIG_PATH': str(pathlib.Path(sys.argv[3]).resolve())}
    shutil.rmtree(work, ignore_errors=True)
    output = work / 'OUTPUT'
    output.mkdir(parents=True)
    if where.is_dir():
        examples = [e for header in sorted(where.rglob('*.h')) for e in from_header(header, where)]
    else:
        examples = from_markdown(where)
    jobs = [(e, work / f'{i}', sys.argv[4:], pkg_config) for i, e in enumerate(examples)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        errors = list(pool.map(compile_example, jobs))
    for (example, folder, _, _), error in zip(jobs, errors):
        error = f'does not compile ({folder}/program.c):\n{error}' if error else \
            run_example(example, folder.resolve() / 'program', output)  # in order: one may read what another wrote
        if error:
            failures += 1
            print(f'{example.name()}: {error}')
    compared = sum(e.expected is not None for e in examples)
    print(f'{len(examples)} examples, {compared} with what they print, {failures} failures')
    return failures > 0 or not examples


if __name__ == '__main__':
    sys.exit(main())
