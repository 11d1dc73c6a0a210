#!/usr/bin/env python3
"""Runs a scenario of test_mpi on 1 to 4 ranks.

    run.py LAUNCHER open|mpich PROGRAM SCENARIO [ARGUMENT...]

Exits with 77 where there is no launcher, or where it cannot start any program.
"""
import os
import subprocess
import sys
import time

launcher, kind, program, scenario, *more = sys.argv[1:]
if launcher == 'none' or not os.path.exists(launcher):
    print('there is no launcher for this MPI')
    sys.exit(77)

# These scenarios end with a failure: what they must print, and on how many ranks they make sense.
FAILING = {'abort': 'the loss is NaN', 'exits': ''}

environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                   OMPI_MCA_rmaps_base_oversubscribe='1')
environment.pop('MALLOC_PERTURB_', None)  # with it mpirun 4.1.4 may crash while it ends ranks


def launch(ranks, *arguments):
    command = [launcher] + (['--oversubscribe'] if kind == 'open' else [])
    command += ['-n', str(ranks), *arguments]
    return command, subprocess.run(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)


def run(ranks):
    began = time.monotonic()
    command, done = launch(ranks, program, scenario, *more)
    print(f'{" ".join(command)}: exit {done.returncode}, {time.monotonic() - began:.1f} s')
    wanted = FAILING.get(scenario)
    good = done.returncode == 0 if wanted is None else done.returncode != 0 and wanted in done.stdout
    if scenario == 'abort':
        good = good and f'adze: rank {ranks - 1} of {ranks} on ' in done.stdout
    if not good:
        print(done.stdout)
    return good


able = launch(2, 'true')[1]
if able.returncode != 0:
    print(f'{launcher} cannot start two processes here:\n{able.stdout}')
    sys.exit(77)
first = 2 if scenario in ('leaves', 'exits') else 1
results = [run(ranks) for ranks in range(first, 5)]
sys.exit(not all(results))
