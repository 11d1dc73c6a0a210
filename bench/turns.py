"""Runs the two sides of a comparison with PyTorch: they start from equal weights and take turns.

A side is a process that runs one step for each line on its standard input. It answers with numbers: the
seconds of the step by the clock and of the processor, then what the comparison defines. The line "first" asks
for the loss before any step. adze's side saves its first weights and its data to a file in safetensors form,
and PyTorch's side loads them. A comparison whose first losses differ ends with 1.
"""

import ctypes
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def process_bytes(key):
    for line in pathlib.Path('/proc/self/status').read_text().splitlines():
        if line.startswith(key + ':'):
            return 1024 * int(line.split()[1])
    return 0


def fresh_peak():
    """What the process holds now; from here on its peak counts again."""
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


def load_start(path):
    """The tensors that adze's side started from, by name."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tests' / 'python'))
    import adze_state
    return adze_state.load_weights(path)


def agree(first, tolerance, stream=sys.stdout):
    """Ends the comparison unless all first losses are the same up to rounding; else says that on stream."""
    text = ', '.join(f'{name} {loss:.9g}' for name, loss in first.items())
    one, *others = first.values()
    if not all(abs(one - other) <= tolerance * abs(one) for other in others):  # NaN is never near
        sys.exit(f'the sides do not start from the same weights: first losses {text}')
    print(f'the same start: first losses {text}', file=stream, flush=True)


def both_sides(script, program, arguments, threads, saves=True, tolerance=2e-6):
    """PyTorch's side is the script itself with --torch-side, adze's the program. Both get a last argument,
    the file with what they start from, unless everything is in the arguments already."""
    arguments = [str(a) for a in arguments]
    with tempfile.TemporaryDirectory() as folder:
        start = [os.path.join(folder, 'start.safetensors')] if saves else []
        adze = Side([program, *arguments, *start], threads)
        first = {'adze': adze.step('first')[0]}
        torch = Side([sys.executable, script, '--torch-side', *arguments, *start], threads)
        first['PyTorch'] = torch.step('first')[0]
    agree(first, tolerance, sys.stderr)
    return {'PyTorch': torch, 'adze': adze}


def answer_steps(first, step):
    """PyTorch's side of a comparison of training steps: answers lines on standard input. `first` gives the loss
    before any step, and `step` makes a step and gives its loss."""
    for line in sys.stdin:
        if line.startswith('first'):
            print(f'{first():.9g}', flush=True)
            continue
        memory = line.startswith('memory')
        if memory:
            before = fresh_peak()
        start, cpu = time.perf_counter(), time.process_time()
        loss = step()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        growth = f' 0 {process_bytes("VmHWM") - before}' if memory else ''
        print(f'{seconds:.6f} {cpu:.6f} {loss:.6f}{growth}', flush=True)


def compare_steps(sides, name, threads, rounds, as_json=False):
    """Runs both sides in turn and prints their times, the growth of their peaks and their losses. The ratios
    are PyTorch's time over adze's."""
    first = {side: process.step('memory') for side, process in sides.items()}
    for process in sides.values():
        process.step()
        process.step()
    times = {side: [] for side in sides}
    for _ in range(rounds):
        for side, process in sides.items():
            times[side].append(process.step()[:2])
    later = {side: process.step('memory') for side, process in sides.items()}
    found = {}
    for side, process in sides.items():
        process.end()
        wall, cpu = zip(*times[side])
        found[side] = {'median_ms': 1e3 * statistics.median(wall), 'least_ms': 1e3 * min(wall),
                       'processor_ms': 1e3 * min(cpu), 'first_growth_mb': first[side][4] / 1e6,
                       'growth_mb': later[side][4] / 1e6, 'loss': [first[side][2], later[side][2]]}
    paired = zip(times['PyTorch'], times['adze'])
    ratios = {'median': statistics.median(theirs[0] / ours[0] for theirs, ours in paired)}
    for key in ('least_ms', 'processor_ms'):
        ratios[key[:-3]] = found['PyTorch'][key] / max(found['adze'][key], 1e-9)
    if as_json:
        return print(json.dumps({'name': name, 'threads': threads, **found, 'ratio': ratios}), flush=True)
    for side, figures in found.items():
        print('{}, {} threads, {:8}: median {:8.2f} ms, least {:8.2f} ms, processor time at least {:8.2f} ms; '
              'peak grows by {:6.1f} MB in the first step, {:6.1f} MB later; loss {:.4f}, {:.4f}'.format(
                  name, threads, side, *list(figures.values())[:5], *figures['loss']))
    print(f'{name}, {threads} threads: adze is {ratios["median"]:.2f} times as fast by medians, '
          f'{ratios["least"]:.2f} by minima, {ratios["processor"]:.2f} by processor time; by its own count its '
          f'peak grows by {first["adze"][3] / 1e6:.1f} and {later["adze"][3] / 1e6:.1f} MB', flush=True)


def compare_calls(sides, name, threads, rounds, checked, tolerance=1e-4, as_json=False):
    """Runs both sides in turn and prints their times. The third number of an answer describes the results so far, and
    `checked` names them. The script ends with 1 if the last ones differ by more than the tolerance, relative to
    PyTorch's. The first answers are not timed. The ratios are PyTorch's time over adze's."""
    for process in sides.values():
        process.step()
    times, last = {side: [] for side in sides}, {}
    for _ in range(rounds):
        for side, process in sides.items():
            *its, last[side] = process.step()
            times[side].append(its)
    for process in sides.values():
        process.end()
    if not abs(last['adze'] - last['PyTorch']) <= tolerance * abs(last['PyTorch']):  # NaN is never near
        sys.exit(f'{name}: {checked} differ: {last}')
    least = {side: [1e3 * min(t[k] for t in times[side]) for k in (0, 1)] for side in sides}
    paired = statistics.median(t[0] / a[0] for t, a in zip(times['PyTorch'], times['adze']))
    ratios = {'median': paired, 'least': least['PyTorch'][0] / least['adze'][0],
              'processor': least['PyTorch'][1] / least['adze'][1]}
    if as_json:
        return print(json.dumps({'name': name, 'threads': threads, 'ratio': ratios, **{
            side: {'least_ms': t[0], 'processor_ms': t[1]} for side, t in least.items()}}), flush=True)
    print(f'{name:10}, {threads} threads: PyTorch {least["PyTorch"][0]:8.3f} ms, adze {least["adze"][0]:8.3f} ms '
          f'at least; adze is {ratios["median"]:.2f} times as fast by medians, {ratios["least"]:.2f} by minima, '
          f'{ratios["processor"]:.2f} by processor time', flush=True)
