#!/usr/bin/env python3
"""What PyTorch's users write, where another meaning would give other numbers without a word."""
import copy
import ctypes
import pickle
import tempfile
import unittest
import warnings

import numpy

import adze
from adze import nn
from adze.utils.data import DataLoader, TensorDataset

BIG = 2**53 + 1 # no float64


class Tensors(unittest.TestCase):

    def test_dtypes_that_are_number_0(self):
        x = adze.ones(2, dtype=adze.float64)
        self.assertIs(x.new_zeros(2, dtype=adze.float32).dtype, adze.float32)
        self.assertIs(x.new_ones(2).dtype, adze.float64)
        self.assertIs(adze.randint(0, 3, (2,), dtype=adze.float32).dtype, adze.float32)

    def test_indices(self):
        x = adze.arange(12).reshape(3, 4)
        self.assertEqual(x[[True, False, True]].tolist(), [[0, 1, 2, 3], [8, 9, 10, 11]])
        self.assertEqual(x[:, numpy.array([1, 3])].tolist(), [[1, 3], [5, 7], [9, 11]])
        self.assertEqual(x[(0, 2), (1, 3)].tolist(), [1, 11])
        self.assertEqual(x[range(1)].tolist(), [[0, 1, 2, 3]])
        self.assertEqual(x[[]].shape, (0, 4))
        for wrong in (True, numpy.bool_(True), adze.tensor([1, 0, 1], dtype=adze.uint8),
                      adze.tensor([True, False]), adze.tensor([True, False, False, False]),
                      adze.tensor([[True], [False], [True]])):
            with self.assertRaises(IndexError):
                x[wrong]
            with self.assertRaises(IndexError):
                x[wrong] = 1
        x[[True, False, False]] = 7
        self.assertEqual(x[:2].tolist(), [[7, 7, 7, 7], [4, 5, 6, 7]])

    def test_spread(self):
        x = adze.arange(6.).reshape(2, 3)
        self.assertEqual(x.var(0, True, True).shape, (1, 3))
        self.assertEqual(x.var(0, False).tolist(), [2.25] * 3)
        self.assertAlmostEqual(x.var(False).item(), 35 / 12, places=6)
        self.assertEqual(adze.var(x, 0, correction=0).tolist(), [2.25] * 3)
        with self.assertRaises(TypeError):
            x.std(0, True, True, 1)

    def test_dimensions(self):
        x = adze.ones(2, 1, 1)
        self.assertEqual(x.squeeze((1, -1)).shape, (2,))
        self.assertEqual(adze.tensor(1.0).squeeze((0,)).shape, ())
        with self.assertRaises(IndexError):
            x.squeeze((4,))
        with self.assertRaisesRegex(TypeError, 'keepdim'):
            x.sum(0, 1)
        self.assertEqual(x.sum(0, numpy.bool_(True)).shape, (1, 1, 1))

    def test_names_of_arguments(self):
        x = adze.arange(6.).reshape(2, 3)
        self.assertEqual((x.sum(axis=1).tolist(), adze.mean(x, axis=0).tolist()), ([3, 12], [1.5, 2.5, 3.5]))
        self.assertEqual((adze.zeros(size=(2, 3)).shape, adze.randn(size=[2]).shape), ((2, 3), (2,)))
        with self.assertRaisesRegex(TypeError, 'twice'):
            adze.ones(2, size=(2,))

    def test_choices(self):
        x = adze.tensor([[3., 1., 2.], [5., 4., 9.]])
        self.assertEqual((x.sort().values.tolist(), adze.sort(x, dim=0, descending=True).indices.tolist()),
                         ([[1, 2, 3], [4, 5, 9]], [[1, 1, 1], [0, 0, 0]]))
        self.assertEqual((adze.topk(x, 1).indices.tolist(), x.kthvalue(2).values.tolist()), ([[0], [2]], [2, 5]))
        self.assertEqual((x.cummax(1).values.tolist(), adze.cummin(x, 1).indices.tolist()),
                         ([[3, 3, 3], [5, 5, 9]], [[0, 1, 1], [0, 1, 1]]))
        self.assertEqual((x.median().item(), adze.median(x, 0).values.tolist(), x.median(1, keepdim=True)[0].shape),
                         (3, [3, 1, 2], (2, 1)))
        x = adze.tensor([[2, 1], [2, 1], [1, 1]])
        self.assertEqual((adze.unique(x).tolist(), x.unique(dim=0).tolist()), ([1, 2], [[1, 1], [2, 1]]))
        self.assertEqual([t.tolist() for t in adze.unique(x, return_counts=True)], [[1, 2], [4, 2]])
        self.assertEqual([t.tolist() for t in x.unique(return_inverse=True)], [[1, 2], [[1, 0], [1, 0], [0, 0]]])
        self.assertEqual(x.unique_consecutive().tolist(), [2, 1, 2, 1])
        self.assertEqual([t.tolist() for t in x.unique_consecutive(return_counts=True, dim=0)], [[[2, 1], [1, 1]], [2, 1]])

    def test_where_with_numbers(self):
        mask = adze.tensor([True, False])
        cases = [(adze.tensor([1, 2]), 1.5, [1, 1.5], adze.float32), (1.5, adze.tensor([1, 2]), [1.5, 2], adze.float32),
                 (1, 0, [1, 0], adze.int64), (1, 0.5, [1, 0.5], adze.float32),
                 (adze.ones(2, dtype=adze.float64), 2, [1, 2], adze.float64),
                 (adze.tensor([True, True]), 3, [1, 3], adze.int64),
                 (adze.ones(2, dtype=adze.int32), 3, [1, 3], adze.int32)]
        for a, b, wanted, dtype in cases:
            made = adze.where(mask, a, b)
            self.assertEqual((made.tolist(), made.dtype), (wanted, dtype))

    def test_whole_numbers_that_are_no_doubles(self):
        x = adze.tensor([BIG])
        self.assertEqual(x.item(), BIG)
        for call in (lambda: adze.full((1,), BIG), lambda: adze.arange(BIG, BIG + 2), lambda: x + BIG, lambda: x == BIG,
                     lambda: x.fill_(BIG), lambda: x * numpy.int64(BIG), lambda: x - -BIG):
            with self.assertRaisesRegex(OverflowError, 'float64 cannot hold'):
                call()
        self.assertEqual((adze.tensor([1]) * 2**60).item(), 2**60)
        with self.assertRaises(OverflowError):
            adze.tensor([300], dtype=adze.uint8)
        with self.assertRaises(OverflowError):
            adze.tensor([2**31], dtype=adze.int32)

    def test_in_place(self):
        for op, wanted in (('//=', [2, 3]), ('%=', [1, 0]), ('**=', [25, 36])):
            x = y = adze.tensor([5, 6])
            exec(f'x {op} 2', {'x': x})
            self.assertEqual(y.tolist(), wanted, op)
        for op, wanted in (('&=', [1, 2]), ('|=', [7, 7]), ('^=', [6, 5])):
            x = y = adze.tensor([5, 6])
            exec(f'x {op} z', {'x': x, 'z': adze.tensor([3, 3])})
            self.assertEqual(y.tolist(), wanted, op)
        x = adze.tensor([5, 6])
        with self.assertRaises(TypeError):
            x **= 0.5
        w = adze.ones(2, requires_grad=True)
        with self.assertRaises(adze.InplaceError):
            w **= 2

    def test_conversions(self):
        x = adze.ones(2)
        with self.assertRaises(TypeError):
            x.to(dtpye=adze.float64)
        y = x.to(adze.float32, copy=True)
        y.fill_(3)
        x.to('cpu', adze.float32, False, True).fill_(4)
        self.assertEqual(x.tolist(), [1, 1])
        with self.assertRaises(TypeError):
            x.data = x.double()
        self.assertEqual(x.device.type, 'cpu')
        self.assertEqual(adze.tensor([numpy.array([1.0]), numpy.array([2.0])]).shape, (2, 1))
        self.assertEqual(adze.tensor(range(3)).tolist(), [0, 1, 2])
        with self.assertRaises(TypeError):
            x == numpy.ones(2)

    def test_memory_of_others(self):
        numbers = (ctypes.c_float * 3)(1, 2, 3) # such a buffer has no strides
        x = adze.from_numpy(numbers)
        x[0] = 5
        self.assertEqual((x.tolist(), numbers[0]), ([5, 2, 3], 5))
        matrix = ((ctypes.c_int * 3) * 2)((1, 2, 3), (4, 5, 6))
        self.assertEqual(adze.from_numpy(matrix).tolist(), [[1, 2, 3], [4, 5, 6]])
        x = adze.ones(2)
        capsule = x.__dlpack__(copy=True)
        adze.from_dlpack(capsule).fill_(9)
        self.assertEqual(x.tolist(), [1, 1])
        adze.from_dlpack(x).fill_(9)
        self.assertEqual(x.tolist(), [9, 9])
        with self.assertRaises(BufferError):
            x.__dlpack__(dl_device=(2, 0))

    def test_files_and_pickles(self):
        with tempfile.TemporaryDirectory() as folder:
            adze.save({'tensor': adze.ones(1)}, folder + '/one')
            self.assertEqual(list(adze.load(folder + '/one')), ['tensor'])
            adze.save(adze.ones(1), folder + '/one')
            self.assertEqual(adze.load(folder + '/one').tolist(), [1])
            x, net = adze.ones(3, 2), nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5)).eval()
            adze.capture(lambda: net(x), inputs=[x], module=net).write_onnx(folder + '/net.onnx')
            read = adze.onnx_load(folder + '/net.onnx')
            self.assertFalse(read.training)
            self.assertTrue(adze.allclose(read(x), net(x)))
            self.assertEqual(sum(p.numel() for p in read.parameters()), 3)
            self.assertIs(adze.onnx_load(folder + '/net.onnx', adze.float64)(x.double()).dtype, adze.float64)
        p = nn.Parameter(adze.ones(2), requires_grad=False)
        self.assertFalse(pickle.loads(pickle.dumps(p)).requires_grad)

    def test_modes(self):
        @adze.set_grad_enabled(False)
        def inside():
            return adze.is_grad_enabled()
        self.assertTrue(adze.is_grad_enabled())
        self.assertFalse(inside())
        self.assertTrue(adze.is_grad_enabled())


class Functions(unittest.TestCase):

    def test_defaults_of_training(self):
        x, f = adze.full((64,), -1.0), nn.functional
        self.assertEqual(f.rrelu(x).tolist(), (x * ((1 / 8 + 1 / 3) / 2)).tolist())
        self.assertEqual(f.alpha_dropout(x).tolist(), x.tolist())
        self.assertEqual(f.feature_alpha_dropout(x.reshape(2, 4, 8)).tolist(), x.reshape(2, 4, 8).tolist())
        self.assertNotEqual(f.dropout(x).tolist(), x.tolist())

    def test_pools_without_positions(self):
        x = adze.arange(8.).reshape(1, 1, 8)
        self.assertEqual(nn.functional.adaptive_max_pool1d(x, 2).tolist(), [[[3, 7]]])
        self.assertEqual(nn.functional.adaptive_max_pool2d(x.reshape(1, 2, 4), 1).tolist(), [[[7]]])

    def test_order_of_arguments(self):
        q = adze.ones(1, 1, 2, 4)
        with self.assertRaisesRegex(TypeError, 'by name'):
            nn.functional.scaled_dot_product_attention(q, q, q, None, 0.0)
        w = nn.Parameter(adze.ones(1))
        optimizer = adze.optim.SGD([w], lr=0.1)
        with self.assertRaisesRegex(TypeError, 'by name'):
            adze.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 100, 10)
        with self.assertRaises(TypeError):
            adze.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 1.0, 3)
        with self.assertRaisesRegex(TypeError, 'last_epoch'):
            adze.optim.lr_scheduler.StepLR(optimizer, 3, last_epoch=5)


class Modules(unittest.TestCase):

    def test_forward_of_a_subclass(self):
        class Seven(nn.Linear):
            def forward(self, x):
                return super().forward(x) * 0 + 7

        class Block(nn.TransformerEncoderLayer):
            def forward(self, x, **_):
                return x * 0 + 7
        x = adze.ones(1, 2)
        self.assertEqual(Seven(2, 2)(x).tolist(), [[7, 7]])
        self.assertEqual(nn.Sequential(nn.Identity(), Seven(2, 2))(x).tolist(), [[7, 7]])
        with self.assertRaises(adze.UnsupportedError):
            nn.TransformerEncoder(Block(4, 1, 8), 2)

    def test_modes_of_layers_in_a_sequential(self):
        x = adze.tensor([[1.0, 2.0], [3.0, 4.0]])
        norm = nn.BatchNorm1d(2).eval()
        for made in (nn.Sequential(nn.Identity(), norm), nn.Sequential(norm).append(nn.Identity()),
                     nn.Sequential(nn.Identity(), nn.Sequential(norm))[0:2]):
            made(x)
            self.assertEqual(norm.running_mean.tolist(), [0, 0])
        made.train()(x)
        self.assertNotEqual(norm.running_mean.tolist(), [0, 0])

    def test_order_of_attributes(self):
        model = nn.Sequential(nn.Flatten(), nn.Identity(), nn.ReLU())
        setattr(model, '0', nn.Sigmoid())
        self.assertEqual([type(m).__name__ for m in model], ['Sigmoid', 'Identity', 'ReLU'])
        self.assertGreater(model(adze.tensor([[-1.0]])).item(), 0.2)
        self.assertEqual(list(nn.Sequential(nn.ReLU(), nn.Linear(1, 1))[1:].state_dict()), ['1.weight', '1.bias'])

        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Parameter(adze.ones(1)), nn.Parameter(adze.ones(1))
        two = Two()
        two.a = nn.Parameter(adze.zeros(1))
        self.assertEqual([name for name, _ in two.named_parameters()], ['a', 'b'])
        shared = nn.Linear(1, 1, bias=False)
        self.assertEqual(list(nn.Sequential(shared, shared).state_dict()), ['0.weight', '1.weight'])

    def test_copies(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
                self.b.weight = self.a.weight

        class More(nn.Linear):
            def __init__(self):
                super().__init__(2, 2)
                self.k, self.gain = 5, nn.Parameter(adze.ones(1))
        tied = copy.deepcopy(Tied())
        self.assertEqual(len(list(tied.parameters())), 1)
        with adze.no_grad():
            tied.a.weight.fill_(3)
        self.assertEqual(tied.b(adze.ones(1, 2)).tolist(), [[6, 6]])
        more = More().eval()
        made = copy.deepcopy(more)
        self.assertEqual((made.k, made.gain.item(), made.training), (5, 1, False))
        self.assertIsNot(made.gain, more.gain)
        self.assertEqual(copy.deepcopy(nn.Sequential(more))[0].k, 5)

    def test_conversions(self):
        layer = nn.Linear(2, 2).to(adze.ones(1, dtype=adze.float64))
        self.assertIs(layer.weight.dtype, adze.float64)
        h = adze.ones(1, 2, 4)
        lstm = nn.LSTM(3, 4)
        x = adze.ones(5, 2, 3)
        self.assertEqual(lstm(x, hx=(h, h))[0].tolist(), lstm(x, (h, h))[0].tolist())

    def test_loops_over_a_loader(self):
        loader = DataLoader(TensorDataset(adze.arange(6)), batch_size=2)
        whole = [[0, 1], [2, 3], [4, 5]]
        for _ in range(2):
            self.assertEqual(next(iter(loader))[0].tolist(), [0, 1])
            self.assertEqual([x.tolist() for x, in loader], whole)
        first, second = iter(loader), iter(loader)
        next(second)
        with self.assertRaisesRegex(RuntimeError, 'another loop'):
            next(first)

    def test_a_checkpoint_keeps_the_position(self):
        loader = DataLoader(TensorDataset(adze.arange(6)), batch_size=2)
        with tempfile.TemporaryDirectory() as folder:
            next(iter(loader))
            adze.save_checkpoint(folder + '/c', loader=loader)
            other = DataLoader(TensorDataset(adze.arange(6)), batch_size=2)
            list(zip(range(2), other))
            adze.load_checkpoint(folder + '/c', loader=other)
            self.assertEqual([x.tolist() for x, in other], [[2, 3], [4, 5]])
            self.assertEqual([x.tolist() for x, in other], [[0, 1], [2, 3], [4, 5]])


class Settings(unittest.TestCase):
    """One value each that tells an option from its neighbour."""

    def test_tensors(self):
        x = adze.ones(2)
        self.assertEqual(x.sub_(adze.ones(2), alpha=3).tolist(), [-2, -2])
        self.assertEqual(x.add_(adze.ones(2), alpha=3).tolist(), [1, 1])
        self.assertEqual((adze.full((1,), True).dtype, adze.full((1,), 2).dtype), (adze.bool, adze.int64))
        y = copy.deepcopy(x)
        y.fill_(7)
        self.assertEqual(x.tolist(), [1, 1])

    def test_gradients(self):
        x = adze.tensor(2.0, requires_grad=True)
        y = x ** 3
        first, = adze.autograd.grad(y, x, create_graph=True)
        self.assertEqual(adze.autograd.grad(first, x)[0].item(), 12)
        self.assertEqual(adze.autograd.grad(y, x)[0].item(), 12) # create_graph has kept it
        with adze.inference_mode():
            self.assertFalse(adze.is_grad_enabled())
        with adze.inference_mode(False):
            self.assertTrue(adze.is_grad_enabled())

    def test_clipping(self):
        w = nn.Parameter(adze.zeros(2))
        (w * adze.tensor([3.0, 4.0])).sum().backward()
        self.assertEqual(nn.utils.clip_grad_norm_([w], 100.0), 5)
        self.assertEqual(nn.utils.clip_grad_norm_([w], 100.0, norm_type=1.0), 7)
        self.assertEqual(nn.utils.clip_grad_norm_([w], 100.0, float('inf')), 4)

    def test_optimizers(self):
        layer = nn.Linear(1, 1)
        w = layer.weight
        optimizer = adze.optim.Adam([w], lr=0.1, betas=(0.5, 0.25))
        group = optimizer.param_groups[0]
        self.assertEqual((group['beta1'], group['beta2'], group['betas']), (0.5, 0.25, (0.5, 0.25)))
        group['betas'] = 0.75, 0.875
        self.assertEqual((group['beta1'], group['beta2']), (0.75, 0.875))
        w.sum().backward()
        optimizer.zero_grad(set_to_none=False)
        self.assertEqual(w.grad.tolist(), [[0]])
        optimizer.zero_grad()
        self.assertIsNone(w.grad)
        plateau = adze.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'min', factor=0.5, patience=0)
        for metric in (3.0, 2.0, 1.0):
            plateau.step(metric)
        self.assertEqual(group['lr'], 0.1)
        plateau.step(1.5)
        self.assertEqual(group['lr'], 0.05)

    def test_states(self):
        state = {'weight': adze.ones(1, 1), 'bias': adze.ones(3)}
        with self.assertRaises(RuntimeError):
            nn.Linear(1, 3).load_state_dict(state, strict=False) # [1, 1] would be broadcast
        model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1, bias=False)))
        self.assertEqual(list(model.state_dict(prefix='m.')), ['m.0.weight', 'm.0.bias', 'm.1.0.weight'])


if __name__ == '__main__':
    warnings.simplefilter('error')
    unittest.main()
