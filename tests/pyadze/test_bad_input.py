#!/usr/bin/env python3
"""What must be an exception or a clean end, never a crash: random calls, fork, the end of the interpreter."""
import os
import pathlib
import subprocess
import sys
import unittest

import adze
import adze.nn.functional as F
from adze import nn

HERE = pathlib.Path(__file__).resolve().parent


def run(program, *arguments):
    return subprocess.run([sys.executable, *program, *arguments], capture_output=True, text=True, timeout=280)


class Processes(unittest.TestCase):
    def clean(self, done, wanted=''):
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertNotIn('Traceback', done.stderr)
        self.assertIn(wanted, done.stdout)

    def test_random_calls(self):
        for seed in ('11', '12'):
            done = run([str(HERE / 'random_calls.py')], '5000', seed)
            self.clean(done, '5000 calls of')
            results = int(done.stdout.split('functions: ')[1].split()[0])
            self.assertGreater(results, 500, 'too few calls fit for the test to be worth anything')

    def test_interpreter_ends_in_a_step(self):
        self.clean(run(['-c', """
import threading, time
import adze
from adze import nn
model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256))
optimizer = adze.optim.SGD(model.parameters(), lr=1e-3)
x = adze.randn(64, 256)
steps = 0

def train():
    global steps
    while True:
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
threading.Thread(target=train, daemon=True).start()
while steps < 3:
    time.sleep(0.001)
print('ends')
"""]), 'ends')

    def test_interpreter_ends_in_a_callback(self):
        self.clean(run(['-c', """
import sys
import adze

def leaves(v):
    print('ends')
    sys.exit(0)
adze.func.jacobian(leaves, adze.ones(3))
"""]), 'ends')

    def test_objects_outlive_the_interpreter(self):
        self.clean(run(['-c', """
import adze, numpy
from adze import nn
a = numpy.ones(100)
kept = [adze.from_numpy(a), nn.Linear(2, 2), adze.ones(3, requires_grad=True)]
kept.append(adze.capture(lambda: kept[2] * 2))
kept.append(kept)
loss = (kept[2] * 2).sum()
print('ends')
"""]), 'ends')

    def test_threads(self):
        """Each thread may train a model of its own. One model that several train is an error or trains, never a crash."""
        self.clean(run(['-W', 'ignore', '-c', """
import threading
import adze
from adze import nn

def make():
    return nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32))

shared = make()
together = adze.optim.Adam(shared.parameters())
results, refused = [], []

def train(model, optimizer):
    x = adze.ones(8, 32)
    try:
        for _ in range(200):
            loss = (model(x) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()
    except (adze.VersionError, adze.StateError, adze.GraphError) as error:
        refused.append(error)

def alone():
    model = make()
    model.load_state_dict(start)
    results.append(train(model, adze.optim.Adam(model.parameters())))

def infer():
    x = adze.ones(8, 32)
    with adze.no_grad():
        wanted = fixed(x)
        for _ in range(200):
            assert adze.equal(fixed(x), wanted)
    results.append(0)

start, fixed = make().state_dict(), make().eval()
for what, wanted in ((alone, 1), (infer, 1), (lambda: train(shared, together), 0)):
    threads = [threading.Thread(target=what) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 * wanted and len(set(results)) == wanted, results
    results.clear()
print('ends')
"""]), 'ends')

    def test_fork_while_another_thread_trains(self):
        self.clean(run(['-W', 'ignore', '-c', """
import os, threading, time
import adze
w = adze.ones(300, 300, requires_grad=True)
stop = []

def train():
    while not stop:
        (w @ w).sum().backward()
t = threading.Thread(target=train)
t.start()
for _ in range(100):
    time.sleep(0.002)
    child = os.fork()
    if child == 0:
        x = adze.ones(2, requires_grad=True)
        x.sum().backward()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.append(1)
t.join()
print('ends')
"""]), 'ends')

    @unittest.skipUnless(hasattr(os, 'fork'), 'no fork')
    def test_fork(self):
        self.clean(run(['-c', """
import os
import adze
x = adze.randn(300, 300)
wanted = (x @ x).sum().item()
child = os.fork()
if child == 0:
    y = adze.randn(3, 3, requires_grad=True)
    (y @ y).sum().backward()
    os._exit(0 if abs((x @ x).sum().item() - wanted) < 1e-2 else 1)
_, status = os.waitpid(child, 0)
assert status == 0
assert (x @ x).sum().item() == wanted
print('ends')
"""]), 'ends')


class Arguments(unittest.TestCase):
    def test_sizes_that_no_memory_holds(self):
        for call in (lambda: adze.tril_indices(10**9, 10**9), lambda: adze.triu_indices(2**40, 2**40),
                     lambda: adze.combinations(adze.ones(30), 15), lambda: adze.combinations(adze.ones(3), 10**9, True),
                     lambda: adze.combinations(adze.ones(10**7), 5 * 10**6), lambda: adze.vander(adze.ones(3), 10**12)):
            with self.assertRaises((adze.MemoryError, adze.ArgumentError, adze.ShapeError)):
                call()
        self.assertEqual(adze.tril_indices(2, 3, -1).tolist(), [[1], [0]])
        self.assertEqual(adze.triu_indices(2, 3, 1).tolist(), [[0, 0, 1], [1, 2, 2]])
        self.assertEqual(adze.tril_indices(0, 3).shape, (2, 0))
        self.assertEqual(adze.triu_indices(2, 2, 5, dtype=adze.int32).dtype, adze.int32)
        self.assertEqual(adze.combinations(adze.tensor([1, 2, 3])).tolist(), [[1, 2], [1, 3], [2, 3]])
        self.assertEqual(adze.combinations(adze.ones(2), 3).shape, (0, 3))
        self.assertEqual(adze.combinations(adze.ones(2), 0).shape, (0,))
        self.assertEqual(adze.combinations(adze.tensor([1, 2]), 2, True).tolist(), [[1, 1], [1, 2], [2, 2]])
        with self.assertRaisesRegex(adze.ShapeError, 'must be a vector'):
            adze.combinations(adze.ones(2, 2))

    def test_generators(self):
        def raises():
            yield nn.Parameter(adze.ones(2))
            raise LookupError('mine')
        with self.assertRaisesRegex(LookupError, 'mine'):
            adze.optim.SGD(raises(), lr=0.1)
        with self.assertRaisesRegex(LookupError, 'mine'):
            adze.cat(p for p in raises())
        with self.assertRaises(adze.Error):
            adze.optim.SGD([], lr=0.1)

    def test_lists_that_change_while_they_are_read(self):
        tensors = [adze.ones(2), adze.ones(2)]

        class Odd(list):
            def __iter__(self):
                self.clear()
                return iter([adze.ones(2), adze.ones(2)])
        self.assertEqual(adze.cat(Odd(tensors), 0).tolist(), [1, 1, 1, 1])

    def test_numbers_that_raise(self):
        class Number:
            def __index__(self):
                raise LookupError('mine')

            def __float__(self):
                raise LookupError('mine')
        with self.assertRaisesRegex(LookupError, 'mine'):
            adze.softmax(adze.ones(2), Number())
        with self.assertRaisesRegex(LookupError, 'mine'):
            F.dropout(adze.ones(2), Number())

    def test_data_that_is_none(self):
        for wrong in (None, 'text', {1: 2}):
            for call in (adze.tensor, adze.from_numpy):
                with self.assertRaisesRegex(TypeError, f'not of {type(wrong).__name__}'):
                    call(wrong)

    def test_modules(self):
        class Forgets(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(2, 2)
        with self.assertRaisesRegex(AttributeError, 'super'):
            Forgets()
        with self.assertRaises(NotImplementedError):
            nn.TransformerEncoder(nn.Sequential(Mine()), 2)
        with self.assertRaises(adze.ShapeError):
            nn.Linear(3, 2)(adze.ones(4))
        with self.assertRaises(TypeError):
            nn.Linear(3, 2)(None, 3, 4)
        with self.assertRaises(NotImplementedError):
            nn.Module()(1)
        silent = nn.Module()
        silent.forward = lambda x: None
        with self.assertRaisesRegex(TypeError, 'forward: it must return a Tensor or a tuple of them, not NoneType'):
            adze._adze.module_forward(nn.layers.handle_of(silent), adze.ones(1))
        with self.assertRaises(RuntimeError):
            nn.Linear(3, 2).load_state_dict({'weight': adze.ones(2, 2)})
        with self.assertRaises(RuntimeError):
            nn.Linear(3, 2).load_state_dict({})

    def test_captures(self):
        x = adze.ones(2)
        with self.assertRaises(LookupError):
            adze.capture(lambda: {}['mine'])
        with self.assertRaisesRegex(TypeError, 'must return a Tensor or a tuple of them, not int'):
            adze.capture(lambda: 3)
        with self.assertRaises(ValueError):
            adze.capture(lambda: (x * 2, x * 3), results=3)
        with self.assertRaises(adze.StateError):
            adze.capture(lambda: x * x.sum().item())
        fails = [False]

        def step():
            if fails[0]:
                raise LookupError('later')
            return x * 2
        plan = adze.capture(step)
        plan()
        fails[0] = True
        adze.set_num_threads(adze.get_num_threads() + 1) # so that the function is called again
        try:
            with self.assertRaisesRegex(LookupError, 'later'):
                plan()
                plan()
        finally:
            adze.set_num_threads(adze.get_num_threads() - 1)


class Mine(nn.Module):
    def forward(self, x):
        return x


if __name__ == '__main__':
    unittest.main()
