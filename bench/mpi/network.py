#!/usr/bin/env python3
"""Measures a step of data-parallel training on four hosts in network namespaces, joined by a bridge.

usage: network.py BENCH_PARALLEL [--links LINK,...] [--hosts N] [--rounds N] [--steps N] [-- OPTION...]

Open MPI runs over TCP. LINK is what `tc` does to each host's link, in both directions:
  plain   nothing
  rate    1 Gbit/s (tbf)
  netem   1 Gbit/s and 0.2 ms (netem)
  loss    1 Gbit/s, 0.2 ms, and 1% of the packets lost (netem)
Without --links it measures netem and loss, and ends with 77 where they are missing. It needs root.

C is the time in which each rank computes its gradients alone while the others do so too, S that of sending
gradients alone, F the time until the first bucket is ready. The step must take at most 1.1 max(C, F + S), and
the payload of a rank's messages at most 1.05 times 2 (n-1)/n of the gradients. Options after -- go to the
program; the default is one micro-batch per rank of a GPT-2 of 10 M parameters.
"""

import argparse
import atexit
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

from launch import ENVIRONMENT, launcher, spread

RATE = '1gbit'
LINKS = {
    'plain': [],
    'rate': ['tbf', 'rate', RATE, 'burst', '256kb', 'latency', '10ms'],
    'netem': ['netem', 'rate', RATE, 'delay', '0.2ms', 'limit', '1000'],
    'loss': ['netem', 'rate', RATE, 'delay', '0.2ms', 'loss', '1%', 'limit', '1000'],
}
PREFIX = f'adze{os.getpid()}'
SWITCH = PREFIX + 'sw'


def host(i):
    return f'{PREFIX}h{i}'


def address(i):
    return f'10.77.0.{i + 1}'


def call(*command):
    return subprocess.run(command, text=True, capture_output=True, check=False)


def must(*command):
    done = call(*command)
    if done.returncode != 0:
        skip(f'{" ".join(command)}: {(done.stderr or done.stdout).strip()}')


def skip(why):
    print(f'This cannot be measured here: {why}')
    sys.exit(77)


def inside(namespace, *command):
    return ['ip', 'netns', 'exec', namespace, *command]


def clean_up(hosts):
    """Deleting a namespace deletes the links in it. Its processes are ended first."""
    for namespace in [host(i) for i in range(hosts)] + [SWITCH]:
        for pid in call('ip', 'netns', 'pids', namespace).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        call('ip', 'netns', 'del', namespace)


def build(hosts):
    """The namespaces: a switch, and one for each host, whose link ends at the switch."""
    must('ip', 'netns', 'add', SWITCH)
    must('ip', '-n', SWITCH, 'link', 'add', 'bridge', 'type', 'bridge')
    must('ip', '-n', SWITCH, 'link', 'set', 'bridge', 'up')
    for i in range(hosts):
        must('ip', 'netns', 'add', host(i))
        must('ip', '-n', host(i), 'link', 'add', 'eth', 'type', 'veth', 'peer', 'name', f'port{i}', 'netns', SWITCH)
        must('ip', '-n', SWITCH, 'link', 'set', f'port{i}', 'master', 'bridge', 'up')
        must('ip', '-n', host(i), 'address', 'add', f'{address(i)}/24', 'dev', 'eth')
        for device in ('lo', 'eth'):
            must('ip', '-n', host(i), 'link', 'set', device, 'up')


def shape(hosts, link):
    """Both ends of each link. Returns why that is impossible, or None."""
    for i in range(hosts):
        for namespace, device in ((host(i), 'eth'), (SWITCH, f'port{i}')):
            call('tc', '-n', namespace, 'qdisc', 'del', 'dev', device, 'root')
            if LINKS[link]:
                done = call('tc', '-n', namespace, 'qdisc', 'add', 'dev', device, 'root', *LINKS[link])
                if done.returncode != 0:
                    return f'tc qdisc add {" ".join(LINKS[link])}: {done.stderr.strip()}'
    return None


AGENT = '''#!/bin/sh
# Called by mpirun instead of ssh: ADDRESS COMMAND...
last=${1##*.}
shift
name=PREFIXh$((last - 1))
exec ip netns exec $name unshare --uts sh -c "hostname $name; $*"
'''


def run(program, hosts, arguments, folder):
    agent = pathlib.Path(folder) / 'agent'
    agent.write_text(AGENT.replace('PREFIX', PREFIX))
    agent.chmod(0o755)
    options = ['--mca', 'btl', 'tcp,self', '--mca', 'btl_tcp_if_include', 'eth', '--mca', 'oob_tcp_if_include',
               'eth', '--mca', 'plm_rsh_agent', str(agent), '--mca', 'plm', 'rsh', '--bind-to', 'none',
               '--host', ','.join(f'{address(i)}:1' for i in range(hosts)), '-n', str(hosts)]
    command = ['unshare', '--uts', 'sh', '-c', f'hostname {host(0)}; exec "$@"', 'sh', launcher(), *options,
               os.path.abspath(program), '--interface', 'eth', *arguments]
    done = subprocess.run(inside(host(0), *command), env=ENVIRONMENT, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{')]
    if done.returncode != 0 or not lines:
        sys.exit(f'{" ".join(command)}: exit {done.returncode}\n{done.stdout}')
    return json.loads(lines[0])


def report(link, result):
    median = {k: statistics.median(result[k]) for k in ('gradients', 'compute', 'first', 'send', 'optimizer')}
    bounds = [max(c, f + s) for c, f, s in zip(result['compute'], result['first'], result['send'])]
    ratios = [step / bound for step, bound in zip(result['gradients'], bounds)]
    on_wire = statistics.median(result['wire']) / result['least']
    cells = [f'{median[k]:.3f}' for k in ('compute', 'first', 'send', 'gradients', 'optimizer')]
    cells += [spread(ratios), f'{result["sent_ratio"]:.3f}', f'{on_wire:.3f}']
    print(f'| {link} | ' + ' | '.join(cells) + ' |')
    least = {k: min(result[k]) for k in ('gradients', 'compute', 'first', 'send')}
    best = least['gradients'] / max(least['compute'], least['first'] + least['send'])
    print(f'| {link}, least | ' + ' | '.join(f'{least[k]:.3f}' for k in ('compute', 'first', 'send', 'gradients')) +
          f' | | {best:.3f} | | |', flush=True)


def main():
    arguments = sys.argv[1:]
    extra = []
    if '--' in arguments:
        extra = arguments[arguments.index('--') + 1:]
        arguments = arguments[:arguments.index('--')]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('program')
    parser.add_argument('--links', default='netem,loss')
    parser.add_argument('--hosts', type=int, default=4)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--steps', type=int, default=2)
    args = parser.parse_args(arguments)
    if os.geteuid() != 0:
        skip('network namespaces need root')
    if shutil.which('ip') is None or call('ip', 'netns', 'list').returncode != 0:
        skip('there is no `ip netns`')
    launcher()
    extra = extra or ['--micro-batches', str(args.hosts), '--rows', str(4 * args.hosts)]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    atexit.register(clean_up, args.hosts)
    build(args.hosts)
    missing = []
    print('Seconds: medians of the rounds, and the least ones. A step ends before the optimizer begins.')
    print('| link | C | F | S | step | optimizer | step / max(C, F + S) | sent / least | on the wire / least |')
    print('|---|---|---|---|---|---|---|---|---|')
    for link in args.links.split(','):
        why = shape(args.hosts, link)
        if why is None:
            with tempfile.TemporaryDirectory() as folder:
                counts = ['--rounds', str(args.rounds), '--steps', str(args.steps)]
                result = run(args.program, args.hosts, extra + counts, folder)
            report(link, result)
        else:
            missing.append(f'{link}: {why}')
    if missing:
        skip('\n'.join(missing))


if __name__ == '__main__':
    main()
