#!/usr/bin/env python3
"""The tables of docs/results.md: each says which command makes it, and holds what the command prints.

usage: results.py [--all] PAGE PROGRAMS [DATA]      PROGRAMS is a folder with the example programs

Without --all it runs the commands marked `quick`, with their first seed. With --all it runs every command. A command
that reads {data} is left out without DATA, and the script then exits with 77.

A comment `<!-- results ... -->` stands before each table, with one line for each thing:

    cells: test_accuracy mean:test_accuracy    how the cells after a row's name follow from the commands
    NAME: [quick] COMMAND                      a row of that name, its command, and {1..5} for seeds
    NAME: [quick] COMMAND | set=yacht          the line of the output that has these words
    others: NAME; NAME                         rows which no command makes: published or computed elsewhere

A cell's key is a number of the line `result: key=value ...`, or #3, the third number of a line that begins with the
words after `|`. One key of several seeds gives as many numbers, or their mean if the cell has one number; `mean:`, `sd:`,
`min:` and `max:` join them, and `+` puts further numbers into the cell. `-` stands for what is not compared. The name of a
row is its first cell, with the second one where that column has no heading. Numbers agree to their last digit, because
trainings have the same bits on every processor with fused multiply-adds (docs/reproducibility.md).
"""
import os
import pathlib
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

NUMBER = re.compile(r'-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?')
SKIPPED = 77
JOINED = {'mean': statistics.fmean, 'sd': statistics.stdev, 'min': min, 'max': max}


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip('|').split('|')]


def name_of(cells, head):
    return ' '.join(cells[:2]).strip() if len(head) > 1 and head[1] == '' else cells[0]


class Table:
    """A table of the page, and the comment before it."""

    def __init__(self, line, head, rows, comment):
        self.line, self.cells, self.commands, self.others = line, [], {}, set()
        first = 2 if head[1] == '' else 1
        self.rows = [(name_of(row, head), row[first:]) for row in rows]
        for text in comment:
            name, _, rest = (part.strip() for part in text.partition(': '))
            if name == 'cells':
                self.cells = rest.split()
            elif name == 'others':
                self.others = set(re.split(r'; *', rest))
            else:
                self.commands[name] = rest
        self.columns = len(head) - first

    def faults(self):
        """What is missing: a column without a key, a row without a command, a command without a row."""
        names = [name for name, _ in self.rows]
        if self.commands and len(self.cells) != self.columns:
            yield f'its comment has {len(self.cells)} keys for {self.columns} columns'
        for name in names:
            if name not in self.commands and name not in self.others:
                yield f'no command makes the row "{name}"'
        for name in [*self.commands, *self.others]:
            if name not in names:
                yield f'its comment names the row "{name}", which it lacks'


def tables_of(page):
    """The tables of a page. A table without a comment has neither keys nor commands."""
    lines, comment, inside, tables, at = page.splitlines(), [], False, [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith('<!-- results'):
            comment, inside = [], True
        elif inside:
            inside = line.strip() != '-->'
            comment += [line] if inside else []
        elif line.startswith('|'):
            end = at
            while end < len(lines) and lines[end].startswith('|'):
                end += 1
            rows = [cells_of(row) for row in lines[at:end]]
            tables.append(Table(at + 1, rows[0], rows[2:], comment))
            comment, at = [], end - 1
        at += 1
    return tables


# ---- commands ----------------------------------------------------------------------------------------------------

class Runner:
    def __init__(self, programs, data):
        self.programs, self.data, self.outputs = pathlib.Path(programs).resolve(), data, {}

    def output(self, command):
        """What the command prints. One command may make several rows and runs once."""
        if command not in self.outputs:
            words = shlex.split(command.replace('{data}', str(self.data)))
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([self.programs / words[0], *words[1:]], cwd=folder, text=True, encoding='utf-8',
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                sys.exit(f'{command}: exit {done.returncode}\n{done.stdout}')
            self.outputs[command] = done.stdout
        return self.outputs[command]

    def numbers(self, command, words):
        """{key: number} of the line that the words choose; the last `result:` line without words."""
        lines = self.output(command).splitlines()
        chosen = [line for line in lines if line.startswith('result: ') and (not words or words in line.split())]
        chosen = chosen or [line for line in lines if words and re.match(re.escape(words) + r'\s+[\d.]', line)]
        if not chosen:
            sys.exit(f'{command}: no line of its output is "{words or "result: ..."}"')
        found = {f'#{i}': number for i, number in enumerate(NUMBER.findall(chosen[-1][len(words):]), 1)}
        found |= dict(re.findall(r'(\w+)=(\S+)', chosen[-1]))
        return found


def seeds_of(command):
    """The commands of all seeds of a row."""
    seeds = re.search(r'\{(\d+)\.\.(\d+)\}', command)
    if seeds is None:
        return [command]
    return [command.replace(seeds.group(), str(seed)) for seed in range(int(seeds[1]), int(seeds[2]) + 1)]


# ---- cells -------------------------------------------------------------------------------------------------------

def wanted_numbers(key, runs, count):
    """The numbers that a key stands for in a cell of `count` numbers; None for one that is not compared."""
    if key == '-':
        return [None]
    join, _, name = key.rpartition(':')
    values = [float(run[name]) for run in runs]
    if join:
        return [JOINED[join](values)]
    return values if len(values) == count else [statistics.fmean(values)]


def agrees(text, value):
    """True if the text is the value, rounded to its digits."""
    digits = len(text.partition('.')[2])
    return abs(float(text.replace(',', '')) - value) <= 0.51 * 10 ** -digits


def compare(cell, keys, runs, whole):
    """A text that says what the cell should be, or None. Without all seeds, the first number of a list is compared."""
    texts = NUMBER.findall(cell)
    parts = keys.split('+')
    if keys == '-':
        return None
    if not whole:
        if ':' in keys or len(parts) > 1:
            return None
        texts = texts[:1]
    wanted = [number for key in parts for number in wanted_numbers(key, runs, len(texts) // len(parts))]
    same = len(texts) == len(wanted) and all(value is None or agrees(text, value)
                                             for text, value in zip(texts, wanted))
    shown = ', '.join('-' if value is None else f'{value:.6g}' for value in wanted)
    return None if same else f'"{cell}" should be {shown}'


def check_row(table, name, cells, runner, everything):
    """Texts of what is wrong with a row; None if its data are not there."""
    command = table.commands[name]
    quick = command.startswith('quick ')
    command, _, words = (part.strip() for part in command.removeprefix('quick ').partition(' | '))
    if not everything and not quick:
        return []
    if '{data}' in command and not runner.data:
        print(f'line {table.line}, "{name}": left out, no folder of data is given')
        return None
    commands = seeds_of(command)
    whole = everything or len(commands) == 1
    runs = [runner.numbers(one, words) for one in (commands if whole else commands[:1])]
    print(f'line {table.line}, "{name}": {command}', flush=True)
    faults = [compare(cell, keys, runs, whole) for cell, keys in zip(cells, table.cells)]
    return [f'line {table.line}, "{name}": {fault}' for fault in faults if fault is not None]


def lacks_fused_multiply_adds():
    about = pathlib.Path('/proc/cpuinfo')
    return platform.machine() == 'x86_64' and about.exists() and ' fma ' not in about.read_text(encoding='ascii')


def main():
    everything = '--all' in sys.argv
    page, programs, *data = [word for word in sys.argv[1:] if word != '--all']
    if os.environ.get('ADZE_TEST_LEARNING') == 'off' or os.environ.get('ADZE_WRAPPER'):
        print('trainings take too long under a sanitizer, valgrind or an emulator')
        sys.exit(SKIPPED)
    if os.environ.get('ADZE_CPU') == 'baseline' or lacks_fused_multiply_adds():
        print('without fused multiply-adds bits are others')
        sys.exit(SKIPPED)
    tables = tables_of(pathlib.Path(page).read_text(encoding='utf-8'))
    wrong = [f'line {table.line}: {fault}' for table in tables for fault in table.faults()]
    if not tables or wrong:
        sys.exit('\n'.join(wrong) or f'{page} has no table')
    runner, left_out = Runner(programs, pathlib.Path(data[0]).resolve() if data else None), False
    for table in tables:
        for name, cells in table.rows:
            faults = check_row(table, name, cells, runner, everything) if name in table.commands else []
            left_out = left_out or faults is None
            wrong += faults or []
    if wrong:
        sys.exit('\n'.join(wrong))
    sys.exit(SKIPPED if left_out else 0)


if __name__ == '__main__':
    main()
