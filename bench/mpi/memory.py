#!/usr/bin/env python3
"""Shows how the memory of AdamW's moments falls with the number of ranks if they are divided among them.

usage: memory.py BENCH_PARALLEL [--ranks 1,2,4,8] [-- OPTION...]

The bytes are those that adze's allocator has handed out and not got back, after the optimizer's first step
less before the optimizer was made. Ends with 1 if a rank's share differs by more than 1% from one n-th.
Options after -- go to the program.
"""

import argparse
import json
import subprocess
import sys

from launch import ENVIRONMENT, mpirun


def moments(program, ranks, extra):
    command = mpirun(ranks) + [program, '--shard', '--no-compute', '--no-send', '--rounds', '1', '--steps', '1',
                               '--rows', '8', '--micro-batches', '8', '--context', '16', *extra]
    done = subprocess.run(command, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True)
    return json.loads(done.stdout)


def main():
    arguments = sys.argv[1:]
    extra = []
    if '--' in arguments:
        extra = arguments[arguments.index('--') + 1:]
        arguments = arguments[:arguments.index('--')]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--ranks', default='1,2,4,8')
    args = parser.parse_args(arguments)
    print('| ranks | bytes of moments of the fullest rank | of all ranks | share | times ranks |')
    print('|---|---|---|---|---|')
    good = True
    for ranks in (int(text) for text in args.ranks.split(',')):
        result = moments(args.program, ranks, extra)
        whole = 8 * result['parameters']  # two moments of 4 bytes each
        share = result['moments'] / whole
        good = good and abs(share * ranks - 1) < 0.01
        print(f'| {ranks} | {result["moments"]:,} | {result["moments_of_all"]:,} | {share:.4f} | '
              f'{share * ranks:.4f} |', flush=True)
    sys.exit(not good)


if __name__ == '__main__':
    main()
