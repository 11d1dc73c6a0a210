"""What the comparisons with PyTorch share: two sides that take turns, and what a step adds to memory.

A side is a process that runs one step for each line on its standard input and answers with numbers: the
seconds of the step by the clock and of the processor, then what the comparison defines.
"""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import time


def process_bytes(key):
    for line in pathlib.Path('/proc/self/status').read_text().splitlines():
        if line.startswith(key + ':'):
            return 1024 * int(line.split()[1])
    return 0


def fresh_peak():
    """What the process holds now; from here on its peak counts anew."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path('/proc/self/clear_refs').write_text('5\n')
    return process_bytes('VmRSS')


class Side:
    def __init__(self, command, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def step(self, what='step'):
        self.process.stdin.write(what + '\n')
        self.process.stdin.flush()
        answer = [float(word) for word in self.process.stdout.readline().split()]
        if not answer:
            sys.exit(f'{self.process.args[0]}: a side ended')
        time.sleep(0.02)  # its threads go to sleep
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def both_sides(script, program, arguments, threads):
    """PyTorch's side is the script itself with --torch-side, adze's the program."""
    arguments = [str(a) for a in arguments]
    return {'PyTorch': Side([sys.executable, script, '--torch-side', *arguments], threads),
            'adze': Side([program, *arguments], threads)}
