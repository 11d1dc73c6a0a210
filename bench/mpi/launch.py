"""Starts bench-parallel under mpirun, and lets several of its processes take turns."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')


def launcher():
    """Open MPI's mpirun; without it the script ends with 77."""
    for name in ('mpirun.openmpi', 'mpirun'):
        path = shutil.which(name)
        if path:
            said = subprocess.run([path, '--version'], text=True, capture_output=True, check=False)
            if 'Open MPI' in said.stdout:
                return path
    print('There is no mpirun of Open MPI here, which this measurement needs.')
    sys.exit(77)


def mpirun(ranks):
    """Ranks may use any core: by default mpirun gives all threads of a rank a single one."""
    return [launcher(), '--oversubscribe', '--bind-to', 'none', '-n', str(ranks)]


class Side:
    """A program that runs a round of steps when it is told to, and sleeps meanwhile. ranks is 0 for a
    program without mpirun."""

    def __init__(self, program, ranks, arguments):
        self.folder = tempfile.TemporaryDirectory()
        self.count = max(ranks, 1)
        prefix = os.path.join(self.folder.name, 'turn')
        for rank in range(self.count):
            os.mkfifo(f'{prefix}.{rank}')
        command = (mpirun(ranks) if ranks else []) + [program, *arguments, '--turns', prefix]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, start_new_session=True)
        self.pipes = [open(f'{prefix}.{rank}', 'w', buffering=1) for rank in range(self.count)]

    def turn(self):
        """Runs a round; returns what the program prints about it."""
        for pipe in self.pipes:
            pipe.write('go\n')
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f'{self.process.args}: ended early')
        time.sleep(0.02)  # its threads go to sleep
        return json.loads(line)

    def end(self):
        for pipe in self.pipes:
            pipe.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.folder.cleanup()


def ratios(sides, rounds):
    """Lets two sides take turns. Returns the rounds' ratios, second to first, by clock and by processor."""
    for side in sides:
        side.turn()  # a warm-up
    clock, processor = [], []
    for i in range(rounds):
        order = (0, 1) if i % 2 == 0 else (1, 0)
        results = {k: sides[k].turn() for k in order}
        clock.append(results[1]['step'] / results[0]['step'])
        processor.append(results[1]['processor'] / results[0]['processor'])
    return clock, processor


def spread(values):
    """The median, and the middle half of the values."""
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return f'{statistics.median(values):.3f} ({quarters[0]:.3f} to {quarters[2]:.3f})'
