#!/usr/bin/env python3
"""A model of the time of a step on many nodes, fitted to measurements on this machine.

usage: model.py BENCH_PARALLEL [--rounds N] [--batch SEQUENCES] [--speed X]

Nothing in its table is measured on many nodes. The model of a step on n nodes, one rank each, is

    step = max(C + S_last, F + S) + O
    S = messages * seconds per message + bytes * max(1 / bandwidth, seconds per byte of the processor)

C is computing, proportional to parameters * tokens. F is the time until the first bucket is ready, O the
optimizer, S the sending of all buckets, and S_last that of the last one, which cannot begin before the
backward ends. Only the backward of a rank's last micro-batch hides any sending. Four numbers are fitted here,
each to the fastest round, because others use the machine too:

- computing: seconds of one micro-batch of a GPT-2 of 10 M parameters on one thread, and the part of it that
  is over when the first bucket is ready;
- the optimizer: seconds per parameter of AdamW;
- a message: two ranks over TCP on this machine send the gradients of a tiny model;
- a byte: they send those of a GPT-2 of 10 M parameters. The processor has to copy each byte through TCP and to
  add it, however fast the network is.

--speed says how many times as fast as one core of this machine a node computes. A byte costs as much on any
node, because MPI runs on one thread.
"""

import argparse
import json
import math
import subprocess

from launch import ENVIRONMENT, mpirun

PARAMETERS, LENGTH = 124_439_808, 1024  # GPT-2 small, and the tokens of a sequence
TABLE = 4 * 50257 * 768  # bytes of the gradient of the token table, which is complete last
BUCKET = 25 << 20
TINY = ['--layers', '1', '--width', '32', '--heads', '1', '--context', '16', '--vocabulary', '16']


def measure(program, ranks, arguments):
    tcp = ['--mca', 'btl', 'tcp,self', '--mca', 'btl_tcp_if_include', 'lo'] if ranks > 1 else []
    launch = mpirun(ranks) + tcp if ranks > 1 else []
    done = subprocess.run(launch + [program, *arguments], env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def fit(program, rounds):
    """Seconds: of computing per parameter and token, of AdamW per parameter, per message, and per byte."""
    counts = ['--rounds', str(rounds), '--steps', '2']
    rows, context = 4, 128
    alone = measure(program, 1, ['--group', 'single', '--micro-batches', '1', '--rows', str(rows),
                                 '--context', str(context), *counts])
    compute = min(alone['compute'])
    tiny = measure(program, 2, ['--micro-batches', '2', '--rows', '2', '--no-compute', *TINY, *counts])
    large = measure(program, 2, ['--micro-batches', '2', '--rows', '2', '--context', '16', '--no-compute', *counts])
    buckets = math.ceil(large['gradient_bytes'] / BUCKET)
    message = min(tiny['send']) / 2  # one bucket, two rounds
    byte = (min(large['send']) - 2 * buckets * message) / large['sent']
    return {'compute': compute / alone['parameters'] / (rows * context),
            'until first': min(f / c for f, c in zip(alone['first'], alone['compute'])),
            'optimizer': min(alone['optimizer']) / alone['parameters'], 'message': message, 'byte': byte}


def sending(gradients, nodes, bandwidth, f):
    """Seconds for the sum of so many bytes of gradients."""
    buckets = math.ceil(gradients / BUCKET)
    sent = 2 * (nodes - 1) / nodes * gradients
    return (2 * math.log2(nodes) * buckets * f['message'] +
            sent * max(8 / bandwidth, f['byte'])) if nodes > 1 else 0


def step(nodes, sequences, bandwidth, f, speed):
    """Seconds of a step in which each node computes so many sequences, one per micro-batch."""
    one = f['compute'] / speed * PARAMETERS * LENGTH
    computing = one * sequences
    first = computing - one * (1 - f['until first'])
    last = sending(TABLE, nodes, bandwidth, f)
    whole = max(computing + last, first + sending(4 * PARAMETERS, nodes, bandwidth, f))
    return whole + f['optimizer'] / speed * PARAMETERS


def print_table(f, speed, batch, few):
    alone = step(1, batch, 1e9, f, speed)
    base = step(1, few, 1e9, f, speed)
    print(f'\nNodes {speed:g} times as fast as one core here. Fixed: {batch} sequences of {LENGTH} tokens per step, '
          f'divided among the nodes\n(one node: {alone:.0f} s). Growing: {few} sequences per node '
          f'(one node: {base:.2f} s). Efficiency: of n times one node.\n')
    print('| nodes | fixed, 10 Gbit/s: step | efficiency | 100 Gbit/s: step | efficiency | growing, 10 Gbit/s: '
          'efficiency | 100 Gbit/s |\n|---|---|---|---|---|---|---|')
    for nodes in (2, 4, 8, 16, 32, 64, 128, 256):
        cells = []
        for bandwidth in (10e9, 100e9):
            seconds = step(nodes, batch / nodes, bandwidth, f, speed)
            cells += [f'{seconds:.2f} s', f'{alone / nodes / seconds:.0%}']
        cells += [f'{base / step(nodes, few, bandwidth, f, speed):.0%}' for bandwidth in (10e9, 100e9)]
        print(f'| {nodes} | ' + ' | '.join(cells) + ' |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--batch', type=int, default=512)
    parser.add_argument('--per-node', type=int, default=16, help='sequences of a node when the batch grows')
    parser.add_argument('--speed', default='2,64')
    args = parser.parse_args()
    f = fit(args.program, args.rounds)
    print(f'Fitted: {1e12 * f["compute"]:.1f} ps per parameter and token ({6e-9 / f["compute"]:.0f} GFLOP/s with 6 '
          f'operations each), the first bucket after {f["until first"]:.0%} of a micro-batch, '
          f'{1e9 * f["optimizer"]:.2f} ns per parameter of AdamW, {1e6 * f["message"]:.0f} us per message, '
          f'{1e9 * f["byte"]:.2f} ns per byte ({8 / f["byte"] / 1e9:.1f} Gbit/s).')
    for speed in args.speed.split(','):
        print_table(f, float(speed), args.batch, args.per_node)


if __name__ == '__main__':
    main()
