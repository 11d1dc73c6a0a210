#!/usr/bin/env python3
"""Prints the SHA-256 of trained weights for several numbers of ranks and threads. Exits with 1 if two differ.

    bits.py open|mpich LAUNCHER TRAIN CHAR-LM [RANKS [THREADS]]      RANKS: 1,2,3,4,7,8   THREADS: 1,2

The trainings are a network with batch norm (TRAIN) and char-lm's GPT-2 with dropout, clipping and AdamW, each with
the optimizer's state whole and divided. The last rows are runs of char-lm whose last rank is killed with SIGKILL in
the middle of a step, and which go on from the checkpoint on another number of ranks.

Exits with 77 where the launcher cannot start any program.
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

KIND, LAUNCHER, TRAIN, CHAR_LM = [sys.argv[1]] + [os.path.abspath(path) for path in sys.argv[2:5]]
RANKS = [int(n) for n in (sys.argv[5] if len(sys.argv) > 5 else '1,2,3,4,7,8').split(',')]
THREADS = [int(n) for n in (sys.argv[6] if len(sys.argv) > 6 else '1,2').split(',')]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                   OMPI_MCA_rmaps_base_oversubscribe='1')
MODEL = ['--arch', 'gpt2', '--layers', 2, '--d-model', 32, '--context', 32, '--batch-size', 11, '--dropout', 0.1,
         '--clip', 0.5, '--lr', 0.01, '--micro-batches', 8]
STEPS = 12


def command(ranks, *arguments):
    start = [LAUNCHER] + (['--oversubscribe'] if KIND == 'open' else []) + ['-n', ranks]
    return [str(word) for word in start + list(arguments)]


def run(ranks, *arguments):
    line = command(ranks, *arguments)
    done = subprocess.run(line, env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f'{" ".join(line)}: exit {done.returncode}\n{done.stdout}')


def weights(path):
    """The SHA-256 of all tensors of a safetensors file, with names, dtypes and shapes, in the order of names."""
    with open(path, 'rb') as stream:
        size = int.from_bytes(stream.read(8), 'little')
        header = json.loads(stream.read(size))
        data = stream.read()
    header.pop('__metadata__', None)
    digest = hashlib.sha256()
    for name in sorted(header):
        begin, end = header[name]['data_offsets']
        digest.update(f'{name} {header[name]["dtype"]} {header[name]["shape"]}\n'.encode())
        digest.update(data[begin:end])
    return digest.hexdigest()


def batch_norm(ranks, threads, divided):
    run(ranks, TRAIN, 'weights', threads, *(['shard'] if divided else []))
    return weights('weights')


def language_model(ranks, threads, divided):
    run(ranks, CHAR_LM, *MODEL, '--steps', STEPS, '--threads', threads, '--save', 'weights',
        *(['--shard'] if divided else []))
    return weights('weights')


# ---- a rank is killed -------------------------------------------------------------------------------


def victim(rank):
    """The process of a rank that works in this folder."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink(f'/proc/{pid}/cwd') != os.getcwd() or os.readlink(f'/proc/{pid}/exe') != CHAR_LM:
                continue
            with open(f'/proc/{pid}/environ', 'rb') as stream:
                words = stream.read().split(b'\0')
            if f'OMPI_COMM_WORLD_RANK={rank}'.encode() in words or f'PMI_RANK={rank}'.encode() in words:
                return int(pid)
        except OSError:
            pass  # it has ended
    return None


def alive():
    return [rank for rank in range(8) if victim(rank) is not None]


def killed(ranks, rank, then):
    """Kills a rank after the first checkpoint; goes on with `then` ranks."""
    options = [*MODEL, '--steps', 3000, '--save-every', STEPS // 3, '--save', 'weights', '--shard']
    with subprocess.Popen(command(ranks, CHAR_LM, *options), env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not os.path.exists('weights') and process.poll() is None:
            time.sleep(0.002)
        pid = victim(rank)
        if pid is None:
            sys.exit('the training was over before a rank could be killed')
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        process.wait(60)
        while alive() and time.monotonic() - began < 60:
            time.sleep(0.05)
        seconds = time.monotonic() - began
    if seconds > 10:
        sys.exit(f'ranks {alive()} were alive {seconds:.0f} s after rank {rank} was killed')
    left = [name for name in os.listdir('.') if name not in ('weights', 'after')]
    run(then, CHAR_LM, '--load', 'weights', '--steps', 3000, '--stop-after', STOP, '--save', 'after')
    return weights('after'), seconds, left


def uninterrupted():
    run(1, CHAR_LM, *MODEL, '--steps', 3000, '--stop-after', STOP, '--save', 'after')
    return weights('after')


# ---- the table --------------------------------------------------------------------------------------

STOP = 120


def main():
    if subprocess.run(command(2, 'true'), env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print(f'{LAUNCHER} cannot start two processes here')
        sys.exit(77)
    good = True
    print('training           state     ranks  threads  SHA-256 of the weights')
    for name, train in (('batch norm', batch_norm), ('GPT-2', language_model)):
        wanted = None
        for divided in (False, True):
            for ranks in RANKS:
                for threads in THREADS:
                    found = train(ranks, threads, divided)
                    wanted = wanted or found
                    good = good and found == wanted
                    print(f'{name:18} {"divided" if divided else "whole":9} {ranks:5}  {threads:7}  {found}'
                          f'{"" if found == wanted else "  differs"}', flush=True)
    wanted = uninterrupted()
    print(f'{"GPT-2, to step " + str(STOP):18} {"whole":9} {1:5}  {"":7}  {wanted}')
    for ranks, then in ((3, 1), (4, 2), (4, 3)):
        os.remove('weights')
        found, seconds, left = killed(ranks, 2, then)
        good = good and found == wanted and not left
        print(f'{"  rank 2 killed":18} {"divided":9} {f"{ranks}, {then}":>5}  {"":7}  {found}'
              f'{"" if found == wanted else "  differs"}  all ended after {seconds:.1f} s'
              f'{"; left: " + ", ".join(left) if left else ""}', flush=True)
    return good


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    SAME = main()
    os.chdir('/')
sys.exit(0 if SAME else 1)
