#!/usr/bin/env python3
"""How the time of a training step grows with rows, width and depth of a feed-forward network.

    growth.py ADZE_BENCH [--threads 1,2] [--passes 3] [--plot FILE.svg]

Each size is twice the one before. The table shows the nanoseconds per multiply-add, the least of the passes,
and how they compare with the size before: under 1 is what fixed costs leave behind, over 1 is a cliff. The
passes go over all sizes in turn, because the speed of a shared machine changes within seconds. --plot draws
the times by draw-growth, which stands beside adze-bench.
"""

import argparse
import json
import pathlib
import subprocess
import sys


def doubled(first, last):
    """first, 2 first, 4 first, ... and last."""
    sizes = [first]
    while 2 * sizes[-1] < last:
        sizes.append(2 * sizes[-1])
    return sizes + [last]


# name: what stays the same, the sizes, and (rows, width, hidden, depth) of a size
SERIES = {
    'rows': ('rows of 256-1024-256', doubled(1, 65536), lambda n: (n, 256, 1024, 1)),
    'width': ('width of 64 rows, hidden as wide', doubled(16, 8192), lambda n: (64, n, n, 1)),
    'depth': ('depth of 64-256-64, 64 rows', doubled(1, 1000), lambda n: (64, 64, 256, n)),
}


def multiply_adds(rows, width, hidden, depth):
    """Of a training step: three products of each of the two layers, but for the input's gradient."""
    return rows * width * hidden * (6 * depth - 1)


def seconds(bench, shape, threads, steps):
    rows, width, hidden, depth = shape
    command = [bench, 'ffn-step', '--steps-only', '--json', '--batch', '1', '--seq', str(rows),
               '--d-model', str(width), '--d-ff', str(hidden), '--depth', str(depth),
               '--activation', 'relu', '--dropout', '0', '--threads', str(threads), '--steps', str(steps)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)['min_us'] / 1e6


def measure(bench, threads, passes):
    """{series: {size: least nanoseconds per multiply-add}}"""
    least = {name: {} for name in SERIES}
    for _ in range(passes):
        for name, (_, sizes, shape_of) in SERIES.items():
            for size in sizes:
                work = multiply_adds(*shape_of(size))
                steps = min(2000, max(3, int(2e10 / work)))
                time = seconds(bench, shape_of(size), threads, steps) * 1e9 / work
                least[name][size] = min(time, least[name].get(size, time))
    return least


def print_table(name, times):
    print(f'\n{SERIES[name][0]}\n{"size":>8} ' + ''.join(f'{f"ns, {t} thr.":>12}{"":>8}' for t in times))
    sizes = SERIES[name][1]
    for at, size in enumerate(sizes):
        line = f'{size:8} '
        for by_size in times.values():
            ratio = '' if at == 0 else f'{by_size[size] / by_size[sizes[at - 1]]:.2f}'
            line += f'{by_size[size]:12.4f}{ratio:>8}'
        print(line)


def plot(found, bench, file):
    """One panel per series, one line per number of threads."""
    lines = []
    for name, (title, sizes, _) in SERIES.items():
        lines.append(f'panel {title}')
        for threads, series in found.items():
            lines.append(f'line {threads} thread{"s" if threads > 1 else ""}')
            lines += [f'{size} {series[name][size]}' for size in sizes]
    subprocess.run([pathlib.Path(bench).resolve().with_name('draw-growth'), file], input='\n'.join(lines) + '\n',
                   text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('bench', help='the program adze-bench')
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--passes', type=int, default=3)
    parser.add_argument('--plot', metavar='FILE.svg')
    given = parser.parse_args()
    found = {t: measure(given.bench, t, given.passes) for t in map(int, given.threads.split(','))}
    for name in SERIES:
        print_table(name, {t: found[t][name] for t in found})
    if given.plot:
        plot(found, given.bench, given.plot)


if __name__ == '__main__':
    sys.exit(main())
