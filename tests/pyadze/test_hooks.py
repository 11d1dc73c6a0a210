#!/usr/bin/env python3
"""Hooks, functions with a backward in Python, checks of gradients, and loops with bodies in Python."""
import gc
import unittest
import weakref

import adze
from adze import nn


class Cube(adze.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 3 * x * x * grad


class Hooks(unittest.TestCase):
    def test_tensors(self):
        x, seen = adze.ones(3, requires_grad=True), []
        handle = x.register_hook(lambda g: g * 2)
        y = x * 3
        y.register_hook(lambda g: seen.append(g.tolist()))
        y.sum().backward()
        self.assertEqual((x.grad.tolist(), seen), ([6, 6, 6], [[1, 1, 1]]))
        handle.remove()
        handle.remove()
        x.grad = None
        with x.register_hook(lambda g: g + 1):
            (x * 3).sum().backward()
        (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [7, 7, 7])

    def test_hooks_change_while_they_run(self):
        x, seen, handles = adze.ones(1, requires_grad=True), [], []

        def once(grad):
            seen.append('once')
            handles[0].remove()
            x.register_hook(lambda g: seen.append('new'))
        handles.append(x.register_hook(once))
        x.register_hook(lambda g: seen.append('behind'))
        for _ in range(2):
            (x * 3).sum().backward()
        self.assertEqual(seen, ['once', 'behind', 'behind', 'new'])

    def test_after_accumulation(self):
        p = nn.Parameter(adze.ones(2))
        optimizer = adze.optim.SGD([p], lr=0.5)

        def step(leaf):
            self.assertIsNotNone(leaf.grad)
            optimizer.step()
            optimizer.zero_grad()
        p.register_post_accumulate_grad_hook(step)
        (p * 2).sum().backward()
        self.assertEqual(p.tolist(), [0, 0])
        self.assertIsNone(p.grad)
        with self.assertRaises(adze.GraphError):
            (p * 2).register_post_accumulate_grad_hook(step)

    def test_exceptions(self):
        def fails(_):
            raise LookupError('mine')
        x = adze.ones(2, requires_grad=True)
        for register in (x.register_hook, x.register_post_accumulate_grad_hook):
            with register(fails), self.assertRaisesRegex(LookupError, 'mine'):
                (x * 2).sum().backward()
            x.grad = None
        with x.register_hook(lambda g: 3), self.assertRaisesRegex(TypeError, 'hook: .*not int'):
            (x * 2).sum().backward()
        with x.register_hook(lambda g: adze.ones(3)), self.assertRaises(adze.ShapeError):
            (x * 2).sum().backward()
        self.assertIsNone(x.grad)
        with self.assertRaises(TypeError):
            x.register_hook(3)
        with self.assertRaises(adze.GraphError):
            adze.ones(2).register_hook(fails)

    def test_ends(self):
        class Seen:
            def __call__(self, grad):
                return None
        hook = Seen()
        alive = weakref.ref(hook)
        x = adze.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(hook)
        handle = x.register_hook(hook)
        del hook
        loss = y.sum()
        del y
        self.assertIsNotNone(alive()) # the graph has it
        loss.backward()
        del loss
        handle.remove()
        self.assertIsNone(alive())

    def test_modules(self):
        seen = []
        model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        x = adze.ones(4, 2)
        plain = model(x)
        handles = [model[0].register_forward_hook(lambda m, i, o: seen.append(('after', o.shape))),
                   model[1].register_forward_pre_hook(lambda m, i: seen.append(('before', i[0].shape))),
                   model[2].register_full_backward_hook(lambda m, i, o: seen.append(('back', i[0].shape, o[0].shape)))]
        y = model(x)
        self.assertTrue(adze.equal(y, plain))
        y.sum().backward()
        self.assertEqual(seen, [('after', (4, 3)), ('before', (4, 3)), ('back', (4, 3), (4, 1))])
        model[0].register_forward_hook(lambda m, i, o: o * 0)
        self.assertTrue(adze.equal(model(x), model[2](adze.zeros(4, 3))))
        for handle in handles:
            handle.remove()
        with self.assertRaises(TypeError):
            model.register_forward_hook(3)

        class Own(nn.Module):
            def forward(self, x):
                return x * 2
        own = Own()
        own.register_full_backward_hook(lambda m, i, o: (i[0] * 10,))
        z = adze.ones(2, requires_grad=True)
        own(z).sum().backward()
        self.assertEqual(z.grad.tolist(), [20, 20])

    def test_parts_of_layers_are_refused(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16), 2)
        with self.assertRaisesRegex(NotImplementedError, 'the layer around it'):
            encoder.layers[0].register_forward_hook(print)
        seen = []
        encoder.register_forward_hook(lambda m, i, o: seen.append(o.shape))
        encoder(adze.ones(3, 1, 8))
        self.assertEqual(seen, [(3, 1, 8)])


class Functions(unittest.TestCase):
    def setUp(self):
        self.a = adze.tensor([1.0, 2.0], dtype=adze.float64, requires_grad=True)

    def test_saved_input_and_result(self):
        class Exp(adze.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                y, = ctx.saved_tensors
                return y * grad
        for function in (Cube, Exp):
            self.assertTrue(adze.autograd.gradcheck(function.apply, (self.a,)))
            self.assertTrue(adze.autograd.gradgradcheck(function.apply, (self.a,)))
        Cube.apply(self.a).sum().backward()
        self.assertEqual(self.a.grad.tolist(), [3, 12])

    def test_arguments_and_results(self):
        class Both(adze.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor, y):
                ctx.factor = factor
                ctx.save_for_backward(x, y)
                return x * y * factor, x + y

            @staticmethod
            def backward(ctx, first, second):
                x, y = ctx.saved_tensors
                self.assertEqual(ctx.needs_input_grad, (True, False, False))
                return first * y * ctx.factor + second, None, None
        y = adze.tensor([3.0, 4.0], dtype=adze.float64)
        first, _ = Both.apply(self.a, 2.0, y)
        first.sum().backward() # the other result has no gradient: zeros
        self.assertEqual(self.a.grad.tolist(), [6, 8])

    def test_a_result_that_is_the_input(self):
        class Reversal(adze.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view_as(x)

            @staticmethod
            def backward(ctx, grad):
                return -grad
        Reversal.apply(self.a).sum().backward()
        self.assertEqual(self.a.grad.tolist(), [-1, -1])

    def test_setup_context(self):
        class Square(adze.autograd.Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.saved_tensors[0] * grad
        self.assertTrue(adze.autograd.gradcheck(Square.apply, (self.a,)))

    def test_errors(self):
        def function(result, back):
            return type('F', (adze.autograd.Function,), {'forward': staticmethod(lambda ctx, x: result(x)),
                                                         'backward': staticmethod(lambda ctx, g: back(g))})
        with self.assertRaisesRegex(LookupError, 'mine'):
            function(lambda x: x * 2, lambda g: {}['mine']).apply(self.a).sum().backward()
        with self.assertRaisesRegex(RuntimeError, '1 gradients, but its forward has 2'):
            two = type('F', (adze.autograd.Function,), {'forward': staticmethod(lambda ctx, x, k: x * k),
                                                        'backward': staticmethod(lambda ctx, g: g)})
            two.apply(self.a, 2).sum().backward()
        with self.assertRaisesRegex(TypeError, 'must return tensors'):
            function(lambda x: 3, lambda g: g).apply(self.a)
        with self.assertRaisesRegex(TypeError, 'tensors and None'):
            function(lambda x: x * 2, lambda g: 3).apply(self.a).sum().backward()
        with self.assertRaises(adze.Error):
            function(lambda x: x * 2, lambda g: adze.ones(7, dtype=adze.float64)).apply(self.a).sum().backward()
        self.assertIsNone(self.a.grad)
        wrong = function(lambda x: x * 2, lambda g: g * 3)
        with self.assertRaisesRegex(adze.NumericError, 'analytic 3, numeric 2'):
            adze.autograd.gradcheck(wrong.apply, (self.a,))
        self.assertFalse(adze.autograd.gradcheck(wrong.apply, (self.a,), raise_exception=False))
        with self.assertRaises(LookupError):
            adze.autograd.gradcheck(lambda x: {}['mine'], (self.a,))
        y = Cube.apply(self.a)
        with adze.no_grad():
            self.a += 1
        with self.assertRaises(adze.VersionError):
            y.sum().backward()

    def test_ends(self):
        alive = []

        class Noted(Cube):
            @staticmethod
            def forward(ctx, x):
                alive.append(weakref.ref(ctx))
                return Cube.forward(ctx, x)
        y = Noted.apply(self.a)
        gc.collect()
        self.assertIsNotNone(alive[0]())
        del y
        self.assertIsNone(alive[0]())
        with adze.no_grad():
            Noted.apply(self.a)
        self.assertIsNone(alive[1]())

    def test_captured(self):
        x = adze.tensor([1.0, 2.0], requires_grad=True)

        def step():
            loss = Cube.apply(x * 2).sum()
            x.grad = None
            loss.backward()
            return loss
        plan = adze.capture(step)
        with adze.no_grad():
            x.copy_(adze.tensor([3.0, 1.0]))
        self.assertEqual(plan().item(), 216 + 8)
        self.assertEqual(x.grad.tolist(), [2 * 3 * 36, 2 * 3 * 4])


class Loops(unittest.TestCase):
    def test_scan(self):
        xs = adze.arange(5.0)
        carry, ys = adze.scan(lambda c, x: (c + x, c * x), adze.tensor(1.0), xs)
        self.assertEqual((carry.item(), ys.tolist()), (11, [0, 1, 4, 12, 28]))
        carry, ys = adze.scan(lambda c, x: ({'a': c['a'] + x['v'], 'b': c['b'] * 2}, None),
                              {'b': adze.tensor(1.0), 'a': adze.tensor(0.0)}, {'v': xs}, results=0)
        self.assertEqual((carry['a'].item(), carry['b'].item(), list(carry), ys), (10, 32, ['b', 'a'], None))
        carry, ys = adze.scan(lambda c, _: (c * 2, (c, c + 1)), adze.tensor(1.0), length=3, reverse=True, results=2)
        self.assertEqual((carry.item(), ys[0].tolist(), ys[1].tolist()), (8, [4, 2, 1], [5, 3, 2]))

    def test_gradients_and_plans(self):
        w, x = adze.tensor(0.5, requires_grad=True), adze.ones(3)

        def step():
            carry, ys = adze.scan(lambda c, x: (c * w + x, c), adze.tensor(1.0), x)
            w.grad = None
            loss = ys.sum() + carry
            loss.backward()
            return loss

        def eager():
            return step().item(), w.grad.item()
        plan = adze.capture(step)
        x.copy_(adze.tensor([2.0, 1.0, 3.0]))
        made = plan().item(), w.grad.item()
        self.assertEqual(made, eager())

    def test_while_and_cond(self):
        made, count, ended = adze.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i),
                                             (adze.tensor(0), adze.tensor(0)), return_count=True)
        self.assertEqual(([t.item() for t in made], count.item(), ended.item()), ([5, 10], 5, True))
        _, count, ended = adze.while_loop(lambda i: i < 5, lambda i: i + 1, (adze.tensor(0),), max_iterations=3,
                                          return_count=True)
        self.assertEqual((count.item(), ended.item()), (3, False))
        x = adze.tensor(1.0)
        for pred, wanted in ((True, 2), (False, 0), (adze.tensor(1), 2), (adze.tensor(False), 0)):
            self.assertEqual(adze.cond(pred, lambda x: x + 1, lambda x: x - 1, (x,)).item(), wanted)
        two = adze.cond(adze.tensor(0), lambda x: (x + 1, x), lambda x: (x - 1, x), (x,), results=2)
        self.assertEqual([t.item() for t in two], [0, 1])

    def test_errors(self):
        xs, one = adze.arange(3.0), adze.tensor(1.0)
        for wrong, kind, message in (
                (lambda: adze.scan(lambda c, x: c, one, xs), TypeError, 'carry, y'),
                (lambda: adze.scan(lambda c, x: (c, (c, c)), one, xs), ValueError, 'results=2'),
                (lambda: adze.scan(lambda c, x: ((c, c), c), one, xs), ValueError, 'returned 2 tensors as the next carry'),
                (lambda: adze.scan(lambda c, x: ({'c': c[0], 'b': c[1]}, x), (one, one), xs), ValueError, 'form of init'),
                (lambda: adze.scan(lambda c, x: ({'a': c['b'], 'z': c['c']}, x), {'b': one, 'c': one}, xs), ValueError,
                 'same keys'),
                (lambda: adze.scan(lambda c, x: ((None, c[0]), x), (one, None), xs), ValueError, 'places of None'),
                (lambda: adze.capture(lambda: adze.cond(one, lambda x: {'a': x, 'b': x}, lambda x: (x, x), (one,), results=2)),
                 ValueError, 'cond: .* the same form'),
                (lambda: adze.scan(lambda c, x: (c, {}['mine']), one, xs), LookupError, 'mine'),
                (lambda: adze.scan(lambda c, x: (c.reshape(1, 1), c), one, xs), adze.ShapeError, 'scan'),
                (lambda: adze.scan(3, one, xs), TypeError, 'not callable'),
                (lambda: adze.scan(lambda c, x: (c, c), 3, xs), TypeError, 'not int'),
                (lambda: adze.while_loop(lambda i: 1 / 0, lambda i: i + 1, (one,)), ZeroDivisionError, ''),
                (lambda: adze.while_loop(lambda i: i < 3, lambda i: (i, i), (one,)), ValueError, '1 tensors'),
                (lambda: adze.while_loop(lambda i: xs, lambda i: i, (one,)), adze.ArgumentError, ''),
                (lambda: adze.while_loop(lambda i: True, lambda i: i, (one,)), TypeError, 'bool'),
                (lambda: adze.cond(adze.tensor(1), lambda x: 3, lambda x: x, (one,)), TypeError, 'not int'),
                (lambda: adze.cond(xs, lambda x: x, lambda x: x, (one,)), adze.ArgumentError, '')):
            with self.assertRaisesRegex(kind, message):
                wrong()


if __name__ == '__main__':
    unittest.main()
