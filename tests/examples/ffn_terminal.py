#!/usr/bin/env python3
"""What a user of ffn-regression sees on a terminal. Skipped where the system has no pseudo-terminals.

usage: ffn_terminal.py PROGRAM
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from program import PROGRAM, WRAPPER, perform

SKIPPED = 77


def on_terminal(columns, *arguments):
    """What a terminal of that width receives, and the exit code."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([*WRAPPER, PROGRAM, *arguments, "--plot", "none"], stdout=writer,
                               stderr=writer)
    os.close(writer)
    output = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    return output, process.wait()


def terminal():
    """On a terminal there is a bar with the time left, redrawn in place and never wrapped."""
    for columns in 120, 80, 50, 20:
        output, code = on_terminal(columns, "--epochs", "600")
        assert code == 0
        drawn = [part.split(b"\r")[0] for part in output.split(b"\r\x1b[K")[1:]]
        assert drawn and all(len(line) < columns for line in drawn), (columns, drawn)
        if columns == 120:
            assert drawn[-1].startswith(b"600/600 [########################] loss "), drawn
        if columns >= 80:
            assert re.fullmatch(rb"600/600 \[#+\] loss \S+  train \S+  validation RMSE \S+", drawn[-1])
            assert re.search(rb"\[[#.]+\] .* validation RMSE \S+  \d+:\d\d left$", drawn[0]), drawn
    output, code = on_terminal(80, "--lr", "3", "--momentum", "0.9", "--epochs", "600")
    assert code == 1
    assert re.search(rb"\r\nffn-regression: epoch \d+: the loss is (nan|inf); try", output), output


def messages():
    """On a terminal a message is broken at 80 characters; elsewhere it is one line, which scripts can search."""
    long = ["--micro-batches", "40", "--batch-size", "32"]
    output, code = on_terminal(80, *long)
    lines = output.decode().split("\r\n")
    assert code == 2 and max(map(len, lines)) <= 80, lines
    piped = subprocess.run([*WRAPPER, PROGRAM, *long], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           check=False).stderr
    assert len(piped.splitlines()[0]) > 80, piped
    assert " ".join(line.strip() for line in lines).endswith(piped.replace("\n", " ")), (lines, piped)


def main():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        print(f"no pseudo-terminal: {error}")
        return SKIPPED
    return perform([terminal, messages])


if __name__ == "__main__":
    sys.exit(main())
