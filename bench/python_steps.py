#!/usr/bin/env python3
"""Times training steps called from Python, with adze and with PyTorch, in turns.

    python_steps.py BUILD PYTHON_WITH_TORCH [ROUNDS]

Both sides run the same text on one thread. A captured step is adze.capture against PyTorch's ordinary step. The last
line is the time of one call on a tensor of four elements from Python, with all that it computes.
"""
import os
import statistics
import subprocess
import sys
import time

STEPS = {
    'toy': ('nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))', (32, 1), 1,
            'torch.optim.SGD(model.parameters(), lr=0.01)', 3000),
    'mlp': ('nn.Sequential(nn.Dropout(0.05), nn.Linear(13, 50), nn.ReLU(), nn.Dropout(0.05), nn.Linear(50, 1))',
            (128, 13), 1, 'torch.optim.Adam(model.parameters(), lr=0.001, weight_decay=1e-4)', 1500),
    'W3': ('nn.Sequential(nn.Linear(768, 3072), nn.GELU(), nn.Linear(3072, 768))', (512, 768), 768,
           'torch.optim.SGD(model.parameters(), lr=0.01)', 5),
}


def worker(side, name):
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
    best = []
    for _ in range(3):
        for _ in range(count // 10 + 2):
            step()
        start = time.perf_counter()
        for _ in range(count):
            step()
        best.append((time.perf_counter() - start) / count)
    print(min(best) * 1e6)


def call():
    import timeit
    import adze
    x = adze.ones(4)
    print(min(timeit.repeat(lambda: x + x, number=20000, repeat=5)) / 20000 * 1e6)


def main():
    build, other = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    here = {**os.environ, 'PYTHONPATH': os.path.abspath(os.path.join(build, 'bindings/python'))}

    def time_of(side, name):
        python = other if side == 'torch' else sys.executable
        env = {**os.environ, 'OMP_NUM_THREADS': '1'} if side == 'torch' else here
        return float(subprocess.run([python, __file__, 'worker', side, name], env=env, check=True, capture_output=True,
                                    text=True).stdout)
    for name in STEPS:
        ratios = {'adze': [], 'captured': []}
        for _ in range(rounds):
            torch = time_of('torch', name)
            for side, found in ratios.items():
                found.append((torch / time_of(side, name), torch))
        for side, found in ratios.items():
            ratio, torch = statistics.median(r for r, _ in found), statistics.median(t for _, t in found)
            print(f'{name:4} {side:9} {ratio:6.2f} times as fast; PyTorch {torch:.1f} us a step')
    print('one call', subprocess.run([sys.executable, __file__, 'call'], env=here, check=True, capture_output=True,
                                     text=True).stdout.strip(), 'us')


if __name__ == '__main__':
    if sys.argv[1:2] == ['worker']:
        worker(*sys.argv[2:])
    elif sys.argv[1:] == ['call']:
        call()
    else:
        main()
