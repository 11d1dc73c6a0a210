#!/usr/bin/env python3
"""Functions of Python that the library calls: in solvers, and as modules inside modules of the library."""
import gc
import math
import unittest
import weakref

import adze
from adze import _adze, nn, solvers
from adze.nn.layers import handle_of


class Solvers(unittest.TestCase):
    def test_root_and_its_gradient(self):
        a = adze.tensor([2.0, 9.0], dtype=adze.float64, requires_grad=True)
        x = solvers.root(lambda x, a: x * x - a, adze.ones(2, dtype=adze.float64), [a])
        self.assertTrue(adze.allclose(x.detach(), adze.tensor([math.sqrt(2), 3.0], dtype=adze.float64)))
        gc.collect()
        x.sum().backward()
        self.assertTrue(adze.allclose(a.grad, adze.tensor([0.5 / math.sqrt(2), 1 / 6], dtype=adze.float64)))

    def test_ode_and_its_gradient(self):
        k = adze.tensor(0.7, dtype=adze.float64, requires_grad=True)
        times = adze.linspace(0, 1, 5, dtype=adze.float64)
        y = solvers.odeint(lambda t, y: -k * y, adze.ones(1, dtype=adze.float64), times)
        self.assertEqual(y.shape, (5, 1))
        self.assertAlmostEqual(y[-1].item(), math.exp(-0.7), places=5)
        gc.collect()
        y[-1].sum().backward()
        self.assertAlmostEqual(k.grad.item(), -math.exp(-0.7), places=5)

    def test_event_and_its_gradient(self):
        g = adze.tensor(9.81, dtype=adze.float64, requires_grad=True)
        start, times = adze.tensor([1.0, 0.0], dtype=adze.float64), adze.tensor([0.0, 5.0], dtype=adze.float64)
        at, y = solvers.odeint_event(lambda t, y: adze.stack([y[1], -g]), start, times, lambda t, y: y[0])
        self.assertAlmostEqual(at.item(), math.sqrt(2 / 9.81), places=6)
        self.assertAlmostEqual(y[0].item(), 0, places=6)
        gc.collect() # the graph has both functions
        at.backward()
        self.assertAlmostEqual(g.grad.item(), -0.5 * math.sqrt(2 / 9.81 ** 3), places=6)
        given, _ = solvers.odeint_event(lambda t, y, k: adze.stack([y[1], -k]), start, times, lambda t, y, k: y[0] * k, [g])
        self.assertAlmostEqual(given.item(), at.item(), places=6)
        with self.assertRaises(ZeroDivisionError):
            solvers.odeint_event(lambda t, y: adze.stack([y[1], -g]), start, times, lambda t, y: 1 / 0)
        with self.assertRaises(adze.NumericError):
            solvers.odeint_event(lambda t, y: adze.stack([y[1], -g]), start, times, lambda t, y: y[0] + 1e9)

    def test_several_events(self):
        w = adze.tensor(2.0, dtype=adze.float64, requires_grad=True) # y = cos(w t)
        start, times = adze.tensor([1.0, 0.0], dtype=adze.float64), adze.linspace(0, 10, 11, dtype=adze.float64)

        def oscillator(t, y, w):
            return adze.stack([y[1], -w * w * y[0]])

        def falling(t, y, w):
            return y[0]
        falling.direction = -1

        def turning(t, y, w):
            return y[1] * 1.0
        turning.terminal = 3
        states, hits, ended = solvers.odeint_events(oscillator, start, times, [falling, turning], [w], rtol=1e-9, atol=1e-10)
        self.assertEqual((states.shape, ended), ((5, 2), 1)) # it ends at 3 pi / 2, behind the time 4
        for found, wanted in ((hits[0][0], [math.pi / 4, 5 * math.pi / 4]), (hits[1][0], [math.pi / 2, math.pi, 1.5 * math.pi])):
            self.assertEqual(found.shape, (len(wanted),))
            for a, b in zip(found.tolist(), wanted):
                self.assertAlmostEqual(a, b, places=6)
        self.assertEqual(hits[1][1].shape, (3, 2))
        gc.collect() # the graph has all functions
        hits[0][0][1].backward()
        self.assertAlmostEqual(w.grad.item(), -5 * math.pi / 8, places=5)
        falling.direction = 0.5 # a sign, as in scipy
        _, hits, ended = solvers.odeint_events(oscillator, start, times, [falling], [w])
        self.assertAlmostEqual(hits[0][0][0].item(), 3 * math.pi / 4, places=4)
        falling.terminal = 1.5
        with self.assertRaises(TypeError):
            solvers.odeint_events(oscillator, start, times, [falling], [w])
        del falling.direction, falling.terminal
        _, hits, ended = solvers.odeint_events(oscillator, start, times, [falling], [w])
        self.assertEqual((hits[0][0].shape, ended), ((6,), None))
        with self.assertRaises(ZeroDivisionError):
            solvers.odeint_events(oscillator, start, times, [falling, lambda t, y, w: 1 / 0], [w])
        for wrong in ([], [3], [falling] * 17):
            with self.assertRaises((TypeError, ValueError, adze.Error)):
                solvers.odeint_events(oscillator, start, times, wrong, [w])
        with self.assertRaises(TypeError):
            adze._adze.odeint_events(oscillator, start, times, [w], [(falling, 0)])

    def test_batches_of_a_plan(self):
        def training():
            adze.manual_seed(3)
            model, x, y = nn.Linear(3, 1), adze.zeros(4, 3), adze.zeros(4, 1)
            optimizer = adze.optim.Adam(model.parameters(), lr=0.1)

            def step():
                loss = nn.functional.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                return loss
            return model, x, y, adze.capture(step, inputs=[x, y], restore=True)
        data, targets, order = adze.randn(10, 3), adze.randn(10, 1), adze.randperm(10)
        model, _, _, plan = training()
        losses = plan.run_batches([data, targets], order=order, drop_last=True)
        other, x, y, plan = training()
        wanted = []
        for rows in (order[:4], order[4:8]):
            x.copy_(data[rows])
            y.copy_(targets[rows])
            wanted.append(plan().item())
        self.assertEqual(losses.tolist(), wanted)
        for a, b in zip(model.parameters(), other.parameters()):
            self.assertTrue(adze.equal(a, b))
        self.assertEqual(plan.run_batches([None, targets[:8]]).shape, (2,))
        for wrong, error in (([data, targets], adze.ShapeError), ([data], adze.ArgumentError),
                             ([data.double(), targets], adze.DtypeError), ([None, None], adze.ArgumentError)):
            with self.assertRaises(error):
                plan.run_batches(wrong)
        with self.assertRaises(adze.ArgumentError):
            adze.capture(lambda: data * 2).run_batches([data])

    def test_function_lives_as_long_as_the_graph(self):
        class Law:
            def __call__(self, x, a):
                return x * x - a
        law = Law()
        alive = weakref.ref(law)
        a = adze.tensor([4.0], dtype=adze.float64, requires_grad=True)
        x = solvers.root(law, adze.ones(1, dtype=adze.float64), [a])
        del law
        gc.collect()
        self.assertIsNotNone(alive())
        x.sum().backward()
        del x
        gc.collect()
        self.assertIsNone(alive())

    def test_exceptions(self):
        def fails(x):
            raise LookupError('mine')
        start = adze.ones(2, dtype=adze.float64)
        with self.assertRaisesRegex(LookupError, 'mine'):
            solvers.root(fails, start)
        with self.assertRaises(TypeError):
            solvers.root(lambda x: None, start)
        with self.assertRaises(TypeError):
            solvers.root(3, start)
        with self.assertRaises(adze.Error):
            solvers.root(lambda x: x * x + 1, start)
        again = [False]

        def fails_later(x):
            if again[0]:
                raise LookupError('in the backward')
            return x - weight
        weight = adze.ones(2, dtype=adze.float64, requires_grad=True)
        x = solvers.root(fails_later, start)
        again[0] = True
        with self.assertRaisesRegex(LookupError, 'in the backward'):
            x.sum().backward()


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(adze.tensor(3.0))
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x) * self.scale


class Modules(unittest.TestCase):
    def test_inside_the_library(self):
        m = Scaled()
        handle = handle_of(m)
        self.assertEqual([name for name, _ in _adze.module_named_parameters(handle)],
                         ['scale', 'inner.weight', 'inner.bias'])
        x = adze.randn(4, 2)
        outer = _adze.sequential_new([handle])
        self.assertTrue(adze.equal(_adze.module_forward(outer, x), m(x)))
        _adze.module_forward(outer, x).sum().backward()
        self.assertIsNotNone(m.scale.grad)

    def test_names_in_plans(self):
        m, x = Scaled(), adze.ones(1, 2)
        plan = adze.capture(lambda: m(x).detach(), inputs=[x], module=m)
        self.assertEqual(plan().shape, (1, 2))

    def test_exceptions(self):
        class Fails(nn.Module):
            def forward(self, x):
                raise LookupError('mine')
        with self.assertRaisesRegex(LookupError, 'mine'):
            _adze.module_forward(handle_of(Fails()), adze.ones(1))

        class Numbers(nn.Module):
            def forward(self, x):
                return 3
        with self.assertRaises(TypeError):
            _adze.module_forward(handle_of(Numbers()), adze.ones(1))

    def test_copies_are_refused(self):
        with self.assertRaises(NotImplementedError):
            _adze.module_copy(handle_of(Scaled()))

    def test_ends_with_the_module(self):
        m = Scaled()
        alive = weakref.ref(m)
        handle = _adze.sequential_new([handle_of(m)])
        del m
        gc.collect()
        self.assertIsNotNone(alive())
        del handle
        gc.collect()
        self.assertIsNone(alive())


class Lists(unittest.TestCase):
    def test_unpad_sequence(self):
        parts = adze.unpad_sequence(adze.arange(12).reshape(3, 4), [4, 1, 2], batch_first=True)
        self.assertEqual([part.tolist() for part in parts], [[0, 1, 2, 3], [4], [8, 9]])


class Cycles(unittest.TestCase):
    def ends(self, make):
        m = make()
        alive = weakref.ref(m)
        del m
        gc.collect()
        self.assertIsNone(alive())

    def test_plan_of_a_module(self):
        class Planned(Scaled):
            def __init__(self):
                super().__init__()
                self.x = adze.ones(1, 2)
                self.plan = adze.capture(lambda: self(self.x).detach(), inputs=[self.x], module=self)
        self.assertEqual(Planned().plan().shape, (1, 2))
        self.ends(Planned)

    def test_layer_around_a_module(self):
        def make():
            m = Scaled()
            m.outer = _adze.sequential_new([handle_of(m)])
            _adze.module_forward(m.outer, adze.ones(1, 2))
            return m
        self.ends(make)

    def test_optimizer_that_a_module_keeps(self):
        class Trains(Scaled):
            def __init__(self):
                super().__init__()
                self.optimizer = adze.optim.Adam(self.parameters())
                self.schedule = adze.optim.lr_scheduler.LambdaLR(self.optimizer, self.rate)

            def rate(self, epoch):
                return 0.5
        self.ends(Trains)

    def test_graph_keeps_a_module(self):
        m, x = Scaled(), adze.ones(1, 2, requires_grad=True)
        alive, scale = weakref.ref(m), m.scale
        layer = _adze.activation_checkpoint_new(handle_of(m))
        y = _adze.module_forward(layer, x).sum()
        del m, layer
        gc.collect()
        self.assertIsNotNone(alive()) # the backward calls its forward again
        y.backward()
        self.assertIsNotNone(scale.grad)
        del y
        gc.collect()
        self.assertIsNone(alive())


if __name__ == '__main__':
    unittest.main()
