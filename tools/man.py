#!/usr/bin/env python3
"""Prints the manual page of a program, made from what its --help prints.

    man.py PROGRAM >NAME.1

The form is that of adze's programs: a sentence, "usage:", and then options, each two columns to the right with its text
two columns or more behind it. A short line above options is a heading, and a line that is further to the right than
the text of an option is shown as it is. help2man takes the second line of an option with a long name for a paragraph
of its own. SOURCE_DATE_EPOCH is the time of the page, if it is set.
"""
import datetime
import os
import pathlib
import re
import subprocess
import sys

TEXT_COLUMN = 18  # of an option's text


def escaped(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\\&' + text if text.startswith(('.', "'")) else text


def as_it_is(lines):
    return ['.PP', '.RS 4', '.nf', *(escaped(line.strip()) for line in lines), '.fi', '.RE']


def paragraphs(lines):
    """The help as [[line, ...], ...], parted by empty lines."""
    found = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [p for p in found if p]


def option(line):
    """(term, text) of a line that begins an option, or None."""
    found = re.fullmatch(r' {2,4}(\S(?:.*?\S)?)(?: {2,}(\S.*))?', line)
    return found.groups() if found and not line.startswith(' ' * 5) else None


def body(lines):
    """One paragraph of the help as lines of roff."""
    made, in_option = [], False
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        heading = number == 0 and indent == 0 and len(lines) > 1 and lines[1].startswith(' ') and line[-1] not in '.:'
        begun = option(line)
        if heading:
            made += ['.SH ' + escaped(line.upper())]
        elif begun and begun[1] is None:
            made += as_it_is([line])
        elif begun:
            made += ['.TP', '.B ' + escaped(begun[0]), escaped(begun[1])]
            in_option = True
        elif in_option and indent > TEXT_COLUMN:
            made += ['.nf', escaped(line.strip()), '.fi']
        else:
            made += ([] if made else ['.PP']) + [escaped(line.strip())]
    return made


def page(name, version, text, day):
    first, rest = text.split('\nusage: ', 1)
    usage, _, rest = rest.partition('\n\n')
    sentences = ' '.join(first.split())
    summary = re.match(r'(.*?)\.(?: |$)', sentences).group(1)
    made = [f'.TH {name.upper()} 1 {day} "{version}" "User Commands"', '.SH NAME',
            f'{name} \\- {escaped(summary[0].lower() + summary[1:])}', '.SH SYNOPSIS', '.nf',
            *(escaped(line.strip()) for line in usage.splitlines()), '.fi', '.SH DESCRIPTION', escaped(sentences)]
    for lines in paragraphs(rest.splitlines()):
        made += body(lines)
    return '\n'.join(made) + '\n'


def said(program, option_):
    return subprocess.run([program, option_], check=True, text=True, stdout=subprocess.PIPE).stdout


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    now = int(os.environ.get('SOURCE_DATE_EPOCH', datetime.datetime.now().timestamp()))
    day = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).date().isoformat()
    version = 'adze ' + said(program, '--version').split()[-1]
    sys.stdout.write(page(program.name, version, said(program, '--help'), day))


if __name__ == '__main__':
    main()
