#!/usr/bin/env python3
"""Tensors of the package: operators, indices, gradients, memory shared with numpy, errors, ends of objects."""
import copy
import gc
import importlib.util
import pickle
import threading
import unittest
import warnings
import weakref

import numpy

import adze
import adze.nn.functional as F
from adze import _adze, nn


class Operators(unittest.TestCase):
    def test_numbers_on_both_sides(self):
        x = adze.tensor([1.0, 2.0, 4.0])
        for found, wanted in [(x + 1, [2, 3, 5]), (1 + x, [2, 3, 5]), (x - 1, [0, 1, 3]), (1 - x, [0, -1, -3]),
                              (x * 2, [2, 4, 8]), (2 * x, [2, 4, 8]), (x / 2, [0.5, 1, 2]), (2 / x, [2, 1, 0.5]),
                              (x ** 2, [1, 4, 16]), (2 ** x, [2, 4, 16]), (-x, [-1, -2, -4]), (abs(-x), [1, 2, 4]),
                              (x % 3, [1, 2, 1]), (x // 3, [0, 0, 1]), (x @ x, 21)]:
            self.assertEqual(found.tolist(), wanted)
        self.assertEqual((x > 1).tolist(), [False, True, True])
        self.assertEqual((1 < x).tolist(), [False, True, True])
        self.assertEqual((x == 2).tolist(), [False, True, False])
        self.assertEqual((~(x == 2)).tolist(), [True, False, True])

    def test_in_place_keeps_the_object(self):
        x = adze.ones(3)
        y = x
        x += 2
        x *= 3
        self.assertIs(x, y)
        self.assertEqual(y.tolist(), [9, 9, 9])
        self.assertIs(x.zero_(), x)

    def test_shapes_by_several_numbers(self):
        x = adze.arange(6.0)
        self.assertEqual(x.reshape(2, 3).shape, (2, 3))
        self.assertEqual(x.view(3, -1).permute(1, 0).shape, (2, 3))
        self.assertEqual(adze.zeros(2, 3).shape, adze.zeros((2, 3)).shape)
        self.assertEqual(adze.ones(1, 3).expand(4, 3).shape, (4, 3))
        self.assertEqual(x.reshape(2, 3).sum(0, True).shape, (1, 3))
        self.assertEqual(adze.sum(x.reshape(2, 3), dim=(0, 1)).item(), 15)

    def test_words_of_pytorch(self):
        x = adze.tensor([[3.0, 1.0], [2.0, 4.0]])
        self.assertEqual(adze.softmax(input=x, dim=1).shape, (2, 2))
        self.assertEqual(x.max(dim=1).values.tolist(), [3, 4])
        self.assertEqual(x.max(1)[1].tolist(), [0, 1])
        self.assertEqual(x.max().item(), 4)
        self.assertEqual(adze.clamp(x, min=2).tolist(), [[3, 2], [2, 4]])
        self.assertEqual([t.tolist() for t in adze.split(adze.arange(5), 2)], [[0, 1], [2, 3], [4]])
        self.assertEqual([t.tolist() for t in adze.arange(5).chunk(2)], [[0, 1, 2], [3, 4]])
        self.assertEqual(adze.cat([x, x], dim=1).shape, (2, 4))
        self.assertEqual(adze.topk(x, 1)[0].tolist(), [[3], [4]])
        self.assertEqual(adze.where(x > 2, x, 0.0).tolist(), [[3, 0], [0, 4]])
        self.assertEqual(adze.add(x, x, alpha=2).tolist(), [[9, 3], [6, 12]])
        self.assertEqual(F.mse_loss(x, x * 2, reduction='sum').item(), 30)


class Indices(unittest.TestCase):
    def same(self, key, shape=(4, 5, 3)):
        a = numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape)
        x = adze.tensor(a)
        numpy_key = tuple(k.numpy() if isinstance(k, adze.Tensor) else k for k in key) if isinstance(key, tuple) else \
            key.numpy() if isinstance(key, adze.Tensor) else key
        numpy.testing.assert_array_equal(x[key].numpy(), a[numpy_key])

    def test_as_numpy(self):
        for key in [0, -1, slice(1, 3), slice(None, None, 2), (slice(None), 2), (Ellipsis, 1), None, (1, 2, 0),
                    (slice(1, None), None, slice(0, 2)), (0, Ellipsis, slice(1, 3)), slice(5, 9), [0, 2],
                    adze.tensor([1, 3, 3]), adze.tensor([[0, 1], [2, -1]]), (slice(None), adze.tensor([4, 0])),
                    (adze.tensor([0, 3]), adze.tensor([1, 2])), adze.tensor([True, False, True, False]),
                    (adze.tensor([0, 1]), 2)]:
            with self.subTest(key=str(key)):
                self.same(key)

    def test_masks_and_writing(self):
        x = adze.zeros(3, 4)
        x[1] = 5
        x[0, 2] = 1.5
        x[:, 3] = adze.tensor([7.0, 8.0, 9.0])
        x[adze.tensor([2])] = adze.full((1, 4), 2.0)
        x[x == 5] = -1
        self.assertEqual(x.tolist(), [[0, 0, 1.5, 7], [-1, -1, -1, 8], [2, 2, 2, 2]])
        self.assertEqual(x[x > 1.6].tolist(), [7, 8, 2, 2, 2, 2])

    def test_refused(self):
        x = adze.zeros(3, 4)
        for key in [3, -4, (0, 0, 0), adze.tensor([3]), (0, 4), adze.tensor([1.5])]:
            with self.subTest(key=str(key)), self.assertRaises((IndexError, TypeError)):
                x[key]
        with self.assertRaises(ValueError):
            x[::-1]
        with self.assertRaises(NotImplementedError):
            x[:, adze.tensor([0])] = 1.0

    def test_gradient_goes_through(self):
        x = adze.zeros(3, 4, requires_grad=True)
        (x[adze.tensor([0, 2]), adze.tensor([1, 1])].sum() + x[1:, 2].sum()).backward()
        self.assertEqual(x.grad.tolist(), [[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]])


class Gradients(unittest.TestCase):
    def test_backward_adds(self):
        x = adze.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(2):
            (x ** 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [6, 24])
        x.grad = None
        self.assertIsNone(x.grad)

    def test_upstream_and_graph(self):
        x = adze.tensor([1.0, 2.0], requires_grad=True)
        y = x * x
        y.backward(adze.tensor([1.0, 10.0]), retain_graph=True)
        y.backward(adze.tensor([1.0, 10.0]))
        self.assertEqual(x.grad.tolist(), [4, 80])
        with self.assertRaises(adze.GraphError):
            y.backward(adze.tensor([1.0, 10.0]))

    def test_grad_of_grad(self):
        x = adze.tensor(2.0, requires_grad=True, dtype=adze.float64)
        first, = adze.autograd.grad(x ** 3, x, create_graph=True)
        second, = adze.autograd.grad(first, x)
        self.assertEqual((first.item(), second.item()), (12, 12))
        z = adze.tensor(1.0, requires_grad=True)
        with self.assertRaises(adze.GraphError):
            adze.autograd.grad(x * 2, z)
        self.assertEqual(adze.autograd.grad(x * 2, z, allow_unused=True), (None,))

    def test_modes(self):
        x = adze.ones(2, requires_grad=True)
        with adze.no_grad():
            self.assertFalse((x * 2).requires_grad)
            with adze.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            with self.assertRaises(KeyError), adze.enable_grad():
                raise KeyError
            self.assertFalse(adze.is_grad_enabled())
        self.assertTrue(adze.is_grad_enabled())

        @adze.no_grad()
        def double(t):
            return t * 2
        self.assertFalse(double(x).requires_grad)
        with adze.set_grad_enabled(False):
            self.assertFalse(adze.is_grad_enabled())
        self.assertTrue(adze.is_grad_enabled())

    def test_derivatives_of_functions(self):
        x = adze.tensor([1.0, 2.0], dtype=adze.float64)
        self.assertEqual(adze.func.jacobian(lambda v: v * v, x).tolist(), [[2, 0], [0, 4]])
        self.assertEqual(adze.func.hessian(lambda v: (v ** 3).sum(), x).tolist(), [[6, 0], [0, 12]])
        value, made = adze.func.jvp(lambda v: v * v, x, adze.tensor([1.0, 1.0], dtype=adze.float64))
        self.assertEqual((value.tolist(), made.tolist()), ([1, 4], [2, 4]))
        (a, b), made = adze.func.vjp(lambda v: (v.sum(), v * 3), x, [None, x], results=2)
        self.assertEqual((a.item(), b.tolist(), made.tolist()), (3, [3, 6], [4, 7]))
        one, two = adze.func.jacobian(lambda u, v: u * v, (x, x))
        self.assertEqual((one.tolist(), two.tolist()), ([[1, 0], [0, 2]], [[1, 0], [0, 2]]))
        _, products = adze.func.hvp(lambda v: (v ** 3).sum(), x, x)
        self.assertEqual(products.tolist(), [6, 24])

    def test_exceptions_pass_through(self):
        x = adze.ones(2)

        class Mine(Exception):
            pass

        def fails(v):
            raise Mine('from Python')
        with self.assertRaisesRegex(Mine, 'from Python'):
            adze.func.jacobian(fails, x)
        with self.assertRaises(TypeError):
            adze.func.jacobian(lambda v: 3, x)
        with self.assertRaises(adze.ShapeError):
            adze.func.jacobian(lambda v: v + adze.ones(3), x)
        self.assertEqual(adze.func.jacobian(lambda v: v, x).tolist(), [[1, 0], [0, 1]])


class Sharing(unittest.TestCase):
    def test_numpy_sees_what_adze_writes(self):
        a = numpy.arange(6.0).reshape(2, 3)
        x = adze.from_numpy(a)
        x[0, 0] = 42
        a[1, 2] = -1
        self.assertEqual((a[0, 0], x[1, 2].item(), x.dtype), (42, -1, adze.float64))
        b = x.numpy()
        b[0, 1] = 7
        self.assertEqual((a[0, 1], x[0, 1].item()), (7, 7))

    def test_strides_are_kept(self):
        a = numpy.arange(24, dtype=numpy.int64).reshape(4, 6)
        x = adze.from_numpy(a[::2, 1::2])
        self.assertEqual(x.tolist(), a[::2, 1::2].tolist())
        x[1, 1] = 100
        self.assertEqual(a[2, 3], 100)
        numpy.testing.assert_array_equal(numpy.asarray(adze.tensor(a).T), a.T)
        with self.assertRaises(ValueError):
            adze.from_numpy(a[::-1])

    def test_memory_outlives_both_objects(self):
        a = numpy.ones(1000)
        x = adze.from_numpy(a)
        alive = weakref.ref(a)
        del a
        gc.collect()
        self.assertIsNotNone(alive())
        y = x[10:20]
        del x
        self.assertEqual(y.sum().item(), 10)
        del y
        gc.collect()
        self.assertIsNone(alive())
        held = (adze.ones(5) * 3).numpy()
        gc.collect()
        self.assertEqual(held.tolist(), [3] * 5)

    def test_memory_outlives_a_conversion_of_the_module(self):
        layer = nn.Linear(3, 2)
        with adze.no_grad():
            layer.weight.fill_(1.5)
        held = layer.weight.detach().numpy()
        layer.double()
        layer.weight.detach().fill_(9)
        self.assertEqual(held.tolist(), [[1.5] * 3] * 2)

    def test_read_only_is_refused(self):
        a = numpy.ones(3)
        a.flags.writeable = False
        for call in (adze.from_numpy, adze.from_dlpack):
            with self.assertRaises((ValueError, BufferError)):
                call(a)
        x = adze.as_tensor(a)
        x[0] = 5
        self.assertEqual(a[0], 1)

    def test_dtypes(self):
        for name in ('float32', 'float64', 'int32', 'int64', 'uint8', 'bool', 'float16'):
            a = numpy.ones((2, 2), dtype=name)
            x = adze.from_numpy(a)
            self.assertEqual((str(x.dtype), x.numpy().dtype.name), ('adze.' + name, name))
            self.assertEqual(adze.tensor(a).tolist(), a.tolist())
        for name in ('complex64', 'int8', 'uint16'):
            with self.assertRaises(TypeError):
                adze.from_numpy(numpy.ones(2, dtype=name))
        with self.assertRaises(BufferError):
            memoryview(adze.ones(2).bfloat16())

    def test_gradients_are_not_shared(self):
        x = adze.ones(2, requires_grad=True)
        for call in (x.numpy, lambda: memoryview(x), lambda: numpy.from_dlpack(x)):
            with self.assertRaises((RuntimeError, BufferError)):
                call()

    def test_dlpack(self):
        x = adze.arange(6.0).reshape(2, 3)
        a = numpy.from_dlpack(x.T)
        self.assertEqual(a.tolist(), x.T.tolist())
        x[0, 1] = 9
        self.assertEqual(a[1, 0], 9)
        b = numpy.arange(4.0)
        y = adze.from_dlpack(b)
        y[3] = -5
        self.assertEqual(b[3], -5)
        capsule = x.__dlpack__()
        adze.from_dlpack(capsule)
        with self.assertRaises(ValueError):
            adze.from_dlpack(capsule)

    @unittest.skipIf(importlib.util.find_spec('torch') is None, 'no PyTorch')
    def test_torch(self):
        import torch
        x = adze.arange(6.0).reshape(2, 3)
        t = torch.from_dlpack(x.T)
        t[0, 1] = 42
        self.assertEqual(x[1, 0].item(), 42)
        u = torch.arange(4, dtype=torch.int64)
        y = adze.from_dlpack(u)
        y += 1
        self.assertEqual((u.tolist(), y.dtype), ([1, 2, 3, 4], adze.int64))
        del u
        gc.collect()
        self.assertEqual(y.sum().item(), 10)
        with self.assertRaises((RuntimeError, BufferError)):
            adze.from_dlpack(torch.ones(2, requires_grad=True))
        with self.assertRaises((TypeError, adze.Error, BufferError, RuntimeError)):
            adze.from_dlpack(torch.ones(2, dtype=torch.complex64))

    def test_empty_and_scalar(self):
        self.assertEqual(adze.zeros(0, 3).numpy().shape, (0, 3))
        self.assertEqual(adze.tensor(2.5).numpy().item(), 2.5)
        self.assertEqual(adze.from_numpy(numpy.zeros((2, 0))).shape, (2, 0))


class Numbers(unittest.TestCase):
    def test_dtypes_of_numbers(self):
        self.assertIs(adze.tensor([1, 2]).dtype, adze.int64)
        self.assertIs(adze.tensor([1, 2.0]).dtype, adze.float32)
        self.assertIs(adze.tensor([[True], [False]]).dtype, adze.bool)
        self.assertIs(adze.tensor([1, 2], dtype=adze.float64).dtype, adze.float64)
        self.assertIs(adze.arange(3).dtype, adze.int64)
        self.assertIs(adze.full((2,), 7).dtype, adze.int64)
        self.assertEqual(adze.tensor([2**53 + 1]).item(), 2**53 + 1)
        for data in ([[1, 2], [3]], [1, [2]], ['a'], None, object()):
            with self.subTest(data=str(data)), self.assertRaises((TypeError, ValueError)):
                adze.tensor(data)

    def test_conversions(self):
        x = adze.tensor(3.7)
        self.assertEqual((float(x), int(x), bool(x), f'{x:.1f}'), (float(x), 3, True, '3.7'))
        self.assertEqual([0, 10, 20][adze.tensor(2)], 20)
        with self.assertRaises(RuntimeError):
            float(adze.ones(2))
        with self.assertRaises(TypeError):
            [1][adze.tensor(0.0)]
        self.assertEqual([t.item() for t in adze.arange(3)], [0, 1, 2])

    def test_copies(self):
        x = adze.tensor([[1.0, 2.0]], requires_grad=True)
        for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            self.assertEqual((y.tolist(), y.requires_grad, y.dtype), ([[1, 2]], True, adze.float32))
        z = pickle.loads(pickle.dumps(x.detach().bfloat16()))
        self.assertEqual((z.dtype, z.tolist()), (adze.bfloat16, [[1, 2]]))
        self.assertIs(pickle.loads(pickle.dumps(adze.int64)), adze.int64)

    def test_random_numbers_repeat(self):
        adze.manual_seed(7)
        a = adze.randn(4).tolist()
        adze.manual_seed(7)
        self.assertEqual(adze.randn(4).tolist(), a)
        one, two = adze.Generator(3), adze.Generator(3)
        self.assertEqual(adze.rand(5, generator=one).tolist(), adze.rand(5, generator=two).tolist())
        self.assertEqual(sorted(adze.randperm(6).tolist()), list(range(6)))
        self.assertTrue(all(2 <= n < 5 for n in adze.randint(2, 5, (50,)).tolist()))


class Errors(unittest.TestCase):
    def test_message_and_classes(self):
        with self.assertRaises(adze.ShapeError) as caught:
            adze.matmul(adze.ones(2, 3), adze.ones(2, 3))
        self.assertEqual((caught.exception.operator, caught.exception.status), ('matmul', 'ADZ_ERR_SHAPE'))
        self.assertIn('x[2, 3]' if 'x[' in str(caught.exception) else '[2, 3]', str(caught.exception))
        for call, classes in [(lambda: adze.softmax(adze.ones(2), 5), (adze.Error, IndexError)),
                              (lambda: adze.zeros(2**44), (adze.Error, MemoryError)),
                              (lambda: _adze.safetensors_load('/no/such/file'), (adze.Error, OSError)),
                              (lambda: F.dropout(adze.ones(2), 1.5), (adze.Error, ValueError)),
                              (lambda: adze.bitwise_and(adze.ones(2), adze.ones(2)), (adze.Error, TypeError))]:
            for one in classes:
                with self.assertRaises(one):
                    call()
        self.assertEqual((adze.ones(2) + 1).tolist(), [2, 2])

    def test_wrong_arguments(self):
        x = adze.ones(2)
        for call in [lambda: adze.exp(), lambda: adze.exp(x, x), lambda: adze.exp(3), lambda: adze.exp(None),
                     lambda: adze.softmax(x, dim=0, dims=0), lambda: adze.softmax(x, 0, dim=0),
                     lambda: adze.softmax(x, 'a'), lambda: adze.cat(x), lambda: adze.cat([1]),
                     lambda: x + 'a', lambda: x + [1], lambda: adze.reshape(x, 'ab'), lambda: adze.zeros(1.5),
                     lambda: adze.Tensor(), lambda: adze.Tensor([1]), lambda: x.to('floating')]:
            with self.assertRaises(TypeError):
                call()
        for call in [lambda: F.mse_loss(x, x, reduction='men'), lambda: x.to('cuda'), lambda: adze.device('cuda'),
                     lambda: adze.zeros(*[1] * 9)]:
            with self.assertRaises((ValueError, adze.Error)):
                call()

    def test_warnings(self):
        def broadcasts():
            return F.mse_loss(adze.ones(3), adze.ones(1))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter('always')
            broadcasts()
        self.assertEqual(len(found), 1)
        self.assertIn('differ in shape', str(found[0].message))
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            with self.assertRaisesRegex(UserWarning, 'differ in shape'):
                broadcasts()
            self.assertEqual((adze.ones(1) + 1).tolist(), [2])

    def test_threads_have_errors_of_their_own(self):
        found = []

        def work():
            for _ in range(50):
                try:
                    adze.ones(2) + adze.ones(3)
                except adze.ShapeError:
                    found.append((adze.ones(300, 300) @ adze.ones(300, 300)).sum().item())
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [300.0 ** 3] * 200)


class Ends(unittest.TestCase):
    def test_nothing_is_left(self):
        def work():
            x = adze.ones(50, 50, requires_grad=True)
            y = x
            for _ in range(10):
                y = (y @ x).tanh()
            y.sum().backward()
            layer = nn.LSTM(3, 4)
            layer(adze.ones(5, 2, 3))
            adze.func.jacobian(lambda v: v * v, adze.ones(3))
        work()
        gc.collect()
        before = _adze.get_memory_info()
        for _ in range(5):
            work()
        gc.collect()
        after = _adze.get_memory_info()
        self.assertEqual(after['live_tensors'], before['live_tensors'])
        self.assertEqual(after['live_bytes'], before['live_bytes'])

    def test_cycles_end(self):
        class Holder:
            pass
        holder = Holder()
        x = adze.ones(4)

        def step():
            return x * 2 if holder else x
        holder.plan = adze.capture(step)
        alive = weakref.ref(holder)
        del holder, step
        gc.collect()
        self.assertIsNone(alive())

    def test_hash_and_identity(self):
        x = adze.ones(2)
        self.assertEqual(hash(x), hash(adze.Tensor(x)))
        self.assertNotEqual(hash(x), hash(adze.ones(2)))
        self.assertEqual({x: 1}[x], 1)

    def test_where_of_a_tensor(self):
        x = adze.tensor([1.0, -2.0])
        self.assertEqual(x.where(x > 0, 0).tolist(), [1, 0])
        self.assertEqual(x.where(adze.tensor([False, True]), adze.tensor([5.0, 6.0])).tolist(), [5, -2])
        a, b, c = adze.tensor([True, False]), adze.tensor([False, True]), adze.tensor([False, False])
        self.assertEqual(a.where(b, c).tolist(), [False, False]) # and not b where a is true
        self.assertEqual(a.where(a, b).tolist(), [True, True])

    def test_modules_are_not_pickled(self):
        for module in (adze.nn.Linear(2, 3), adze.nn.Sequential(adze.nn.Linear(2, 3))):
            with self.assertRaisesRegex(TypeError, 'modules are not pickled: adze.save'):
                pickle.dumps(module)
            self.assertEqual(len(copy.deepcopy(module).state_dict()), 2)


if __name__ == '__main__':
    unittest.main()
