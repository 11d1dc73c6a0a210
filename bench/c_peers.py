#!/usr/bin/env python3
"""Compares training steps with ggml and kann, step by step in turn.

    c_peers.py ADZE_BENCH [--kann FOLDER] [--ggml FOLDER] [--threads 1,2] [--rounds 9]

FOLDER is a checkout of github.com/attractivechaos/kann or github.com/ggml-org/ggml, which is compiled here with
-O3 for this processor and OpenBLAS. The network is Linear, ReLU, Linear with mean squared error and SGD,
without dropout. All sides start from adze's first weights and data; the script ends with 1 if their first
losses differ. Only the ratio means something, because other work on the machine slows down all of them.
"""

import argparse
import array
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / 'c_peers'

# name: rows, inputs, hidden, outputs, steps of a round
ROWS = {
    'small': (128, 16, 64, 16, 2000),
    'W2 without dropout': (40, 512, 2048, 512, 15),
    'W3 with ReLU, without dropout': (512, 768, 3072, 768, 4),
}


def openblas():
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'openblas'], check=True, text=True,
                           stdout=subprocess.PIPE)
    return flags.stdout.split()


def build_kann(folder, target):
    """kann multiplies in loops of its own or by BLAS, which is faster."""
    sources = [HERE / 'kann_side.c', folder / 'kann.c', folder / 'kautodiff.c']
    subprocess.run(['gcc', '-O3', '-march=native', '-w', '-DHAVE_CBLAS', '-DHAVE_PTHREAD', f'-I{folder}',
                    *sources, '-o', target, *openblas(), '-lm', '-lpthread'], check=True)


def build_ggml(folder, target):
    built = pathlib.Path(target).parent / 'ggml'
    subprocess.run(['cmake', '-S', folder, '-B', built, '-DCMAKE_BUILD_TYPE=Release', '-DGGML_BLAS=ON',
                    '-DGGML_BLAS_VENDOR=OpenBLAS', '-DBUILD_SHARED_LIBS=OFF', '-DGGML_BUILD_TESTS=OFF',
                    '-DGGML_BUILD_EXAMPLES=OFF'], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(['cmake', '--build', built, '--parallel'], check=True, stdout=subprocess.DEVNULL)
    archives = [str(path) for path in built.rglob('*.a')]
    subprocess.run(['gcc', '-O2', '-fopenmp', '-c', f'-I{folder}/include', HERE / 'ggml_side.c', '-o',
                    f'{target}.o'], check=True)
    subprocess.run(['g++', '-fopenmp', f'{target}.o', '-Wl,--start-group', *archives, '-Wl,--end-group', '-o',
                    target, *openblas(), '-lpthread', '-ldl', '-lm'], check=True)


def convert(start, target, shape):
    """The start of adze's side, a safetensors file, as plain f32 in the order of c_peers/side.h."""
    rows, inputs, hidden, outputs, _ = shape
    data = pathlib.Path(start).read_bytes()
    length = int.from_bytes(data[:8], 'little')
    tensors = {}
    for name, about in json.loads(data[8:8 + length]).items():
        if name != '__metadata__':
            begin, end = about['data_offsets']
            tensors[name] = about['shape'], array.array('f', data[8 + length + begin:8 + length + end])
    x, target_values = tensors.pop('x')[1], tensors.pop('target')[1]
    weights = [values for of, values in tensors.values() if len(of) == 2]
    biases = [values for of, values in tensors.values() if len(of) == 1]
    shapes = [list(of) for of, _ in tensors.values() if len(of) == 2]
    if shapes != [[hidden, inputs], [outputs, hidden]] or len(x) != rows * inputs:
        sys.exit(f'{start} holds other weights than expected: {shapes}')
    with open(target, 'wb') as file:
        for part in (weights[0], biases[0], weights[1], biases[1], x, target_values):
            part.tofile(file)


class Side:
    def __init__(self, command, threads, key=None):
        self.key = key
        self.process = subprocess.Popen([str(word) for word in command], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, OMP_NUM_THREADS=str(threads)))

    def answer(self, line, key):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        return json.loads(said)[key] if self.key else float(said)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(bench, peers, shape, threads, rounds, folder):
    """The median ratio of each peer, its time over adze's; None if the first losses differ."""
    rows, inputs, hidden, outputs, steps = shape
    start, plain = folder / 'start.safetensors', folder / 'start.bin'
    adze = Side([bench, 'ffn-step', '--rounds', '--json', '--steps-only', '--batch', 1, '--seq', rows,
                 '--d-model', inputs, '--d-ff', hidden, '--activation', 'relu', '--dropout', 0,
                 '--threads', threads, '--steps', steps, '--start', start], threads, key='json')
    first = {'adze': adze.answer('first', 'first_loss')}
    convert(start, plain, shape)
    sides = {name: Side([program, plain, rows, inputs, hidden, outputs, threads, steps], threads)
             for name, program in peers.items()}
    first.update({name: side.answer('first', None) for name, side in sides.items()})
    ratios = {name: [] for name in sides}
    for turn in range(rounds + 1):
        ours = adze.answer('go', 'median_us')
        for name, side in sides.items():
            ratio = side.answer('go', None) / ours
            if turn > 0: # the first round warms up
                ratios[name].append(ratio)
    for side in [adze, *sides.values()]:
        side.end()
    if max(first.values()) - min(first.values()) > 1e-4 * max(first.values()):
        print(f'the first losses differ: {first}')
        return None
    return {name: statistics.median(values) for name, values in ratios.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('bench', help='the program adze-bench')
    parser.add_argument('--kann', type=pathlib.Path)
    parser.add_argument('--ggml', type=pathlib.Path)
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=9)
    given = parser.parse_args()
    builders = {'kann': (given.kann, build_kann), 'ggml': (given.ggml, build_ggml)}
    with tempfile.TemporaryDirectory() as name:
        folder, peers = pathlib.Path(name), {}
        for peer, (checkout, build) in builders.items():
            if checkout:
                peers[peer] = folder / f'{peer}_side'
                build(checkout.resolve(), peers[peer])
        if not peers:
            parser.error('give --kann or --ggml')
        print('time over that of adze'.ljust(34) + 'threads ' + ''.join(peer.rjust(8) for peer in peers))
        for row, shape in ROWS.items():
            for threads in map(int, given.threads.split(',')):
                found = compare(given.bench, peers, shape, threads, given.rounds, folder)
                if found is None:
                    return 1
                print(row.ljust(34) + f'{threads:7} ' + ''.join(f'{found[peer]:8.2f}' for peer in peers),
                      flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
