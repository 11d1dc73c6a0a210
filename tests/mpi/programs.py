#!/usr/bin/env python3
"""The programs on several ranks: the same result and weights on 1 to 4 of them, faults, bad input.

    programs.py LAUNCHER open|mpich FFN-REGRESSION CHAR-LM DATA-PARALLEL

Exits with 77 where there is no launcher, or where it cannot start any program.
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

launcher, kind, *programs = sys.argv[1:]
FFN, CHAR_LM, DATA_PARALLEL = map(os.path.abspath, programs)

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                   OMPI_MCA_rmaps_base_oversubscribe='1')
ENVIRONMENT.pop('MALLOC_PERTURB_', None)  # with it mpirun 4.1.4 may crash while it ends ranks
SMALL = ['--layers', 1, '--d-model', 16, '--context', 16, '--batch-size', 10]


def command(ranks, *arguments):
    """The command line that starts a program on so many ranks; 0 stands for no launcher."""
    start = [launcher] + (['--oversubscribe'] if kind == 'open' else []) + ['-n', ranks]
    return [str(word) for word in (start if ranks > 0 else []) + list(arguments)]


def launch(ranks, *arguments, code=0, environment=ENVIRONMENT):
    """What the ranks print, with stderr."""
    line = command(ranks, *arguments)
    done = subprocess.run(line, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=100, check=False)
    assert done.returncode == code, f'{" ".join(line)}: exit {done.returncode}\n{done.stdout}'
    return done.stdout


def result(output):
    """The result line without its times."""
    lines = [line for line in output.splitlines() if line.startswith('result: ')]
    assert len(lines) == 1, output
    return re.sub(r' (tokens_per_second|seconds)=\S+', '', lines[0])


def content(path):
    with open(path, 'rb') as stream:
        return stream.read()


def same_on_all(runs, program, *arguments):
    """Runs a program on numbers of ranks, each with options of its own. Result and file are equal."""
    wanted = None
    for ranks, more in runs:
        output = launch(ranks, program, *arguments, *more, '--save', 'weights')
        found = result(output), content('weights')
        if wanted is None:
            wanted = found
        assert found[0] == wanted[0], f'{ranks} ranks: {found[0]}, not {wanted[0]}'
        assert found[1] == wanted[1], f'{ranks} ranks: other weights'
        assert (f'{ranks} ranks; 8 micro-batches' in output) == (ranks > 1), output
        sent = re.search(r'sent in a step: .* by a rank, (\S+) times the gradients', output)
        assert (sent is not None) == (ranks > 1), output
        if sent:  # the layout begins each parameter at a multiple of 64 bytes
            least = {2: 1.0, 3: 2.0, 4: 1.5}[ranks]
            assert 0.99 * least <= float(sent[1]) < 1.2 * least, output
        os.remove('weights')
    return wanted[0]


# ---- the same bits --------------------------------------------------------------------------------


def smallest_program():
    # Open MPI 5 may print warnings about network interfaces between the program's lines.
    outputs = {''.join(re.findall(r'^step .*\n', launch(ranks, DATA_PARALLEL), re.M)) for ranks in range(1, 5)}
    assert len(outputs) == 1, outputs
    losses = [float(loss) for loss in re.findall(r'loss (\S+)', outputs.pop())]
    assert len(losses) == 5 and losses[-1] < losses[0] / 20, losses


def regression():
    """An epoch has 35 batches of 41 rows, and 5 rows that are fewer than the micro-batches."""
    common = ['--epochs', 2, '--batch-size', 41, '--dropout', 0.1, '--plot', 'none']
    runs = [(0, ['--micro-batches', 8])] + [(ranks, ['--threads', 1 + ranks % 2]) for ranks in range(1, 5)]
    many = same_on_all(runs, FFN, *common)
    assert many != result(launch(0, FFN, *common)), 'the micro-batches change nothing'


def language_model():
    common = [CHAR_LM, *SMALL, '--steps', 8, '--dropout', 0.1, '--lr', 0.01]
    exact = same_on_all([(0, ['--micro-batches', 8]), (1, []), (2, ['--threads', 2]), (3, ['--shard']), (4, [])],
                        *common)
    fast = result(launch(2, *common, '--fast'))
    losses = [float(re.search(r'val_loss=(\S+)', line).group(1)) for line in (exact, fast)]
    assert abs(losses[0] - losses[1]) < 1e-3, losses
    same_on_all([(1, []), (3, [])], *common, '--arch', 'awd-lstm', '--alpha', 2, '--beta', 1)


# ---- faults -----------------------------------------------------------------------------------------


def processes():
    """The processes that work in this folder, by their ranks; the launcher's own are left out."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.readlink(f'/proc/{pid}/cwd') == os.getcwd() and \
                    os.readlink(f'/proc/{pid}/exe') in (FFN, CHAR_LM):
                words = content(f'/proc/{pid}/environ').split(b'\0')
                for word in words:
                    if word.startswith((b'OMPI_COMM_WORLD_RANK=', b'PMI_RANK=')):
                        found[int(word.split(b'=')[1])] = int(pid)
        except OSError:
            pass  # it has ended
    return found


def struck(path, number, ranks, *arguments):
    """Sends a signal to the last rank when the file is there. What the ranks printed, and the exit code.
    A training that was over before is begun again."""
    for _ in range(20):
        if os.path.exists(path):
            os.remove(path)
        with subprocess.Popen(command(ranks, *arguments), env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            while not os.path.exists(path) and process.poll() is None:
                time.sleep(0.001)
            pid = processes().get(ranks - 1)
            if pid is not None:
                os.kill(pid, number)
            began = time.monotonic()
            while processes() and time.monotonic() - began < 10:
                time.sleep(0.01)
            alive = processes()
            if alive:
                process.kill()
            output = process.communicate(timeout=60)[0]
            assert not alive, f'10 seconds later {alive} are alive\n{output}'
        if pid is not None and 'result: ' not in output or 'stopped' in output:
            return output, process.returncode
    raise AssertionError('the training is always over before the signal')


def killed():
    """A rank is killed in mid-run. The run goes on with another number of ranks, to the same bits."""
    for program, more, sharded in ((CHAR_LM, [*SMALL, '--steps', 40, '--dropout', 0.1], ['--shard']),
                                   (FFN, ['--epochs', 4, '--dropout', 0.1, '--plot', 'none'], [])):
        launch(0, program, *more, '--micro-batches', 8, '--save', 'whole')
        output, code = struck('part', signal.SIGKILL, 3, program, *more, *sharded, '--save-every', 1, '--save',
                              'part')
        assert code != 0, output
        assert content('part') != content('whole')
        launch(2, program, '--load', 'part', *(['--plot', 'none'] if program == FFN else []))
        assert content('part') == content('whole'), f'{program}: not the bits of a run without a break'


def interrupted():
    """A signal that reaches one rank stops all of them at the same step, and the run is saved."""
    output, code = struck('cut', signal.SIGTERM, 3, CHAR_LM, *SMALL, '--steps', 100000, '--save-every', 1,
                          '--save', 'cut')
    assert code == 128 + signal.SIGTERM, f'exit {code}\n{output}'
    done = int(re.search(r'stopped after step (\d+); --load cut goes on', output).group(1))
    assert f'step {done + 1}/{done + 1}' in launch(2, CHAR_LM, '--load', 'cut', '--steps', done + 1)


# ---- bad input ----------------------------------------------------------------------------------------


def bad_input():
    for arguments, code, message in (
            ([CHAR_LM, '--frobnicate'], 2, 'char-lm: there is no option --frobnicate\n'),
            ([FFN, '--data', 'none.csv', '--target', 'y'], 1, 'none.csv: '),
            ([FFN, '--micro-batches', 2], 2, '--micro-batches 2: there are 3 ranks, and each needs at least'),
            ([FFN, '--epochs', 9, '--lr', 1e6], 1, 'rank 0 of 3 on ')):
        output = launch(3, *arguments, code=code)
        assert output.count(message) == 1, output
        assert 'result: ' not in output
    assert launch(3, CHAR_LM, '--help').count('usage: ') == 1
    foreign = {'PMI_RANK': '0', 'PMI_SIZE': '2'} if kind == 'open' else {'OMPI_COMM_WORLD_SIZE': '2'}
    output = launch(0, FFN, code=1, environment={**ENVIRONMENT, **foreign})
    assert 'the launcher has started 2 processes, but they do not know each other' in output, output


def ranks_differ():
    """Rank 1 has another option, another text, or no checkpoint."""
    for name, text in (('a', 'To be, or not to be. '), ('b', 'To see, or not to be ')):
        with open(name, 'w', encoding='ascii') as stream:
            stream.write(text * 40)
    common = [CHAR_LM, *SMALL, '--steps', 2]
    launch(0, *common, '--data', 'a', '--micro-batches', 8, '--stop-after', 1, '--save', 'run')
    for one, other, message in ((['--lr', 0.1], ['--lr', 0.2], 'the ranks differ in --lr: rank 0 has 0.1'),
                                (['--data', 'a'], ['--data', 'b'], 'the ranks differ in the text of --data'),
                                (['--load', 'run'], ['--data', 'a'], 'the ranks differ in the file of --load')):
        # The mpirun of Open MPI 5.0.7 crashes if it is given two commands.
        with open('either', 'w', encoding='ascii') as stream:
            for rank, more in enumerate((one, other)):
                line = shlex.join(map(str, [*common, *more]))
                stream.write(f'[ "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" != {rank} ] || exec {line}\n')
        output = launch(2, 'sh', 'either', code=1)
        assert f'rank 0 of 2 on ' in output and message in output, output


def main():
    if launcher == 'none' or not os.path.exists(launcher):
        print('there is no launcher for this MPI')
        return 77
    able = subprocess.run(command(2, 'true'), env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if able.returncode != 0:
        print(f'{launcher} cannot start two processes here:\n{able.stdout}')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in (smallest_program, regression, language_model, killed, interrupted, bad_input,
                      ranks_differ):
            began = time.monotonic()
            check()
            print(f'{check.__name__}: ok, {time.monotonic() - began:.1f} s', flush=True)
        os.chdir('/')
    return 0


if __name__ == '__main__':
    sys.exit(main())
