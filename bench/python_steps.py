#!/usr/bin/env python3
"""Times training steps called from Python, with adze and with PyTorch, in turns.

    python_steps.py BUILD PYTHON_WITH_TORCH [ROUNDS]

Both sides run the same text on one thread. A captured step is adze.capture against PyTorch's ordinary step. An exported
law is a network of 6-32-32-6 in double, for one row, that Plan.write_c has written and ctypes calls, alone and with its
Jacobian. PyTorch calls the network and torch.func; the faster one of jacrev and jacfwd counts. Times are those
of the process, so that other work on the machine counts little. A ratio is that of the least times of all rounds. The
sides C and C captured are the same steps of adze-bench, in turn with the others, if the build has that program. The last
line is the time of one call on a tensor of four elements from Python, with all that it computes.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

STEPS = {
    'toy': ('nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))', (32, 1), 1,
            'torch.optim.SGD(model.parameters(), lr=0.01)', 3000),
    'mlp': ('nn.Sequential(nn.Dropout(0.05), nn.Linear(13, 50), nn.ReLU(), nn.Dropout(0.05), nn.Linear(50, 1))',
            (128, 13), 1, 'torch.optim.Adam(model.parameters(), lr=0.001, weight_decay=1e-4)', 1500),
    'W3': ('nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Linear(3072, 768))', (512, 768), 768,
           'torch.optim.SGD(model.parameters(), lr=0.01)', 5),
}


# adze-bench's command for the same step, with how many steps it takes the mean of.
FROM_C = {'toy': 'toy --steps 200', 'mlp': 'mlp --steps 200', 'W3': 'ffn-step --threads 1 --steps 1'}
REPEATED = 5

LAWS = ('law', 'law with its Jacobian')


def law(side, name):
    """A call of the law, and how many calls are timed together."""
    if side == 'torch':
        import torch
        from torch import nn
    else:
        import adze as torch
        from adze import nn
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 6)).double()
    x = torch.randn(1, 6, dtype=torch.float64)
    if side == 'torch':
        jacobians = [torch.func.vmap(made(model)) for made in (torch.func.jacrev, torch.func.jacfwd)]

        def value():
            with torch.inference_mode():
                return model(x)
        return [value] if name == 'law' else [lambda j=j: (model(x), j(x)) for j in jacobians]
    import ctypes
    import numpy
    results = 1 if name == 'law' else 2
    plan = torch.capture((lambda: model(x)) if results == 1 else lambda: (model(x), torch.func.jacobian_rows(model, x)),
                         results=results, inputs=[x], module=model)
    with tempfile.TemporaryDirectory() as folder:
        plan.write_c(folder + '/law.c', precision='float64')
        subprocess.run(['cc', '-O3', '-march=native', '-shared', '-fPIC', folder + '/law.c', '-o', folder + '/law.so', '-lm'],
                       check=True)
        run = ctypes.CDLL(folder + '/law.so').law_run
    arrays = [x.numpy(), *(numpy.zeros(shape) for shape in ((1, 6), (1, 6, 6))[:results])]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
    run(*pointers)
    wanted = (plan.output,) if results == 1 else plan.output
    assert all(numpy.allclose(a, w.detach().numpy(), atol=1e-9) for a, w in zip(arrays[1:], wanted))
    law.kept = arrays, plan
    return [lambda: run(*pointers)]


def worker(side, name):
    if name in LAWS:
        return print(min(time_of(call, 300 if side == 'torch' else 20000) for call in law(side, name)))
    if side == 'torch':
        import torch
        from torch import nn
    else:
        import adze as torch
        from adze import nn
    torch.set_num_threads(1)
    model, shape, out, optimizer, count = STEPS[name]
    scope = {'nn': nn, 'torch': torch}
    model = scope['model'] = eval(model, scope) # noqa: S307
    optimizer = eval(optimizer, scope) # noqa: S307
    criterion = nn.MSELoss()
    x, y = torch.randn(*shape), torch.randn(shape[0], out)

    def step():
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    if side == 'captured':
        plan = torch.capture(step)
        step = plan.run
    return print(time_of(step, count))


def time_of(step, count):
    """Microseconds of the process: the least mean time of bursts, `count` calls together."""
    burst, best = max(1, count // 20), []
    for _ in range(2 + count // burst):
        start = time.process_time()
        for _ in range(burst):
            step()
        best.append((time.process_time() - start) / burst)
    return min(best) * 1e6


def from_c(build, name, captured):
    """The least of some means, because a worker's time is the least of its bursts."""
    command = [os.path.join(build, 'bench/adze-bench'), *FROM_C[name].split(), '--json', *(['--captured'] if captured else [])]
    return min(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)['cpu_us']
               for _ in range(REPEATED))


def call():
    import timeit
    import adze
    x = adze.ones(4)
    print(min(timeit.repeat(lambda: x + x, number=2000, repeat=100, timer=time.process_time)) / 2000 * 1e6)


def main():
    build, other = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    here = {**os.environ, 'PYTHONPATH': os.path.abspath(os.path.join(build, 'bindings/python'))}

    def measured(side, name):
        if side.startswith('C'):
            return from_c(build, name, side == 'C captured')
        python = other if side == 'torch' else sys.executable
        env = {**os.environ, 'OMP_NUM_THREADS': '1'} if side == 'torch' else here
        return float(subprocess.run([python, __file__, 'worker', side, name], env=env, check=True, capture_output=True,
                                    text=True).stdout)
    c = ['C', 'C captured'] if os.path.exists(os.path.join(build, 'bench/adze-bench')) else []
    for name in (*STEPS, *LAWS):
        sides = ['torch', 'exported'] if name in LAWS else ['torch', 'adze', 'captured', *c]
        least = dict.fromkeys(sides, float('inf'))
        for _ in range(rounds):
            for side in sides:
                least[side] = min(least[side], measured(side, name))
        for side in sides[1:]:
            print(f'{name:21} {side:10} {least["torch"] / least[side]:6.2f} times as fast; {least[side]:.2f} us, PyTorch '
                  f'{least["torch"]:.1f} us', flush=True)
    print('one call', subprocess.run([sys.executable, __file__, 'call'], env=here, check=True, capture_output=True,
                                     text=True).stdout.strip(), 'us')


if __name__ == '__main__':
    if sys.argv[1:2] == ['worker']:
        worker(*sys.argv[2:])
    elif sys.argv[1:] == ['call']:
        call()
    else:
        main()
