#!/usr/bin/env python3
"""Modules, optimizers, schedules, data, files and captured steps of the package."""
import copy
import gc
import os
import pathlib
import tempfile
import unittest

import adze
import adze.nn.functional as F
from adze import nn, optim
from adze.utils.data import DataLoader, TensorDataset


def small():
    adze.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 2))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(adze.tensor(2.0))
        self.register_buffer('count', adze.zeros(1))
        self.register_buffer('scratch', adze.zeros(1), persistent=False)

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


class Modules(unittest.TestCase):
    def test_attributes(self):
        m = Tied()
        self.assertEqual([n for n, _ in m.named_parameters()],
                         ['scale', 'first.weight', 'first.bias', 'second.bias'])
        self.assertEqual(list(m.state_dict()), ['scale', 'count', 'first.weight', 'first.bias', 'second.weight',
                                                'second.bias'])
        m(adze.ones(2, 4)).sum().backward()
        one = m.first.weight.grad.clone()
        m.zero_grad()
        self.assertIsNone(m.first.weight.grad)
        with adze.no_grad():
            m.first.weight.fill_(0.5)
        self.assertEqual(m.second.weight[0, 0].item(), 0.5)
        self.assertFalse(adze.equal(one, adze.zeros(4, 4)))
        with self.assertRaises(TypeError):
            m.first = 3
        with self.assertRaises(AttributeError):
            m.nothing
        del m.scale
        with self.assertRaises(AttributeError):
            m.scale

    def test_modes_reach_every_layer(self):
        m = small()
        x = adze.ones(40, 3)
        self.assertFalse(adze.equal(m(x), m(x)))
        m.eval()
        self.assertTrue(adze.equal(m(x), m(x)))
        self.assertTrue(all(not part.training for part in m.modules()))
        m[2].train()
        self.assertFalse(adze.equal(m(x), m(x)))

    def test_sequential_is_its_modules(self):
        m = small().eval()
        x = adze.randn(4, 3)
        by_hand = m[3](m[1](m[0](x)))
        self.assertTrue(adze.equal(m(x), by_hand))
        m[1] = nn.ReLU()
        self.assertTrue(adze.equal(m(x), m[3](F.relu(m[0](x)))))

        class Doubled(nn.Module):
            def forward(self, x):
                return 2 * x
        m.append(Doubled())
        self.assertTrue(adze.equal(m(x), 2 * m[3](F.relu(m[0](x)))))
        self.assertIn('(4): Doubled()', repr(m))

    def test_copies_and_states(self):
        m = small().eval()
        other = copy.deepcopy(m)
        x = adze.randn(2, 3)
        wanted = m(x)
        with adze.no_grad():
            other[0].weight.zero_()
        self.assertTrue(adze.equal(m(x), wanted))
        self.assertFalse(adze.equal(other(x), wanted))
        self.assertEqual(other.load_state_dict(m.state_dict()).missing_keys, [])
        self.assertTrue(adze.equal(other(x), wanted))
        m.double()
        self.assertIs(m(x.double()).dtype, adze.float64)
        tied = copy.deepcopy(Tied())
        self.assertEqual(tied.first.weight.shape, (4, 4))

    def test_conversion_keeps_the_optimizer(self):
        m = nn.Linear(2, 2)
        optimizer = optim.SGD(m.parameters(), lr=1.0)
        m.double()
        m(adze.ones(1, 2, dtype=adze.float64)).sum().backward()
        before = m.weight.detach().clone()
        optimizer.step()
        self.assertEqual((before - m.weight).tolist(), [[1, 1], [1, 1]])

    def test_order_of_arguments_of_convolutions(self):
        x, w = adze.randn(1, 2, 9, 9), adze.randn(4, 1, 3, 3)
        self.assertEqual(F.conv2d(x, w, None, 2, 1, 2, 2).shape, (1, 4, 4, 4))
        self.assertTrue(adze.equal(F.conv2d(x, w, None, 2, 1, 2, 2),
                                   F.conv2d(x, w, stride=2, padding=1, dilation=2, groups=2)))
        self.assertEqual(nn.Conv2d(2, 4, 3, 2, 1, 2, 2, False)(x).shape, (1, 4, 4, 4))
        self.assertEqual(len(list(nn.Conv2d(2, 4, 3, 2, 1, 2, 2, False).parameters())), 1)
        self.assertEqual(nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False)(x).shape, (1, 4, 18, 18))
        t = adze.randn(2, 2, 3, 3)
        self.assertEqual(F.conv_transpose2d(x, t, None, 2, 1, 1, 2).shape, (1, 4, 18, 18))
        self.assertEqual(F.conv2d(x, w, padding='same', groups=2).shape, (1, 4, 9, 9))
        with self.assertRaises(TypeError):
            nn.Conv2d(2, 4, 3, 2, stride=2)

    def test_other_orders_are_refused(self):
        x = adze.ones(2, 3)
        for call in [lambda: nn.MarginRankingLoss(0.5), lambda: nn.CrossEntropyLoss(None, None, -1),
                     lambda: nn.Unfold(2, 2), lambda: optim.Adam([nn.Parameter(x)], 0.1, 0.9, 0.9),
                     lambda: F.margin_ranking_loss(x, x, x, 0.5), lambda: F.interpolate(x, None, 2)]:
            with self.assertRaisesRegex(TypeError, 'by name'):
                call()
        self.assertEqual(F.margin_ranking_loss(x, x, x, margin=0.5).item(), 0.5)
        self.assertEqual(nn.MarginRankingLoss(margin=0.5)(x, x, x).item(), 0.5)

    def test_changes_reach_the_library(self):
        x = adze.ones(1, 3)
        layer = nn.Linear(3, 2)
        layer.weight = nn.Parameter(adze.ones(2, 3))
        layer.bias = nn.Parameter(adze.tensor([10.0, 20.0]))
        self.assertEqual(layer(x).tolist(), [[13, 23]])
        layer.weight.data = adze.zeros(2, 3)
        self.assertEqual(layer(x).tolist(), [[10, 20]])
        with self.assertRaises(TypeError):
            del layer.bias
        try:
            layer.bias = None
        except adze.Error:
            self.assertEqual(layer(x).tolist(), [[10, 20]])
        else:
            self.assertEqual((layer(x).tolist(), len(list(layer.parameters()))), ([[0, 0]], 1))
        drop = nn.Dropout(0.5)
        drop.training = False
        self.assertEqual(drop(adze.ones(50)).tolist(), [1] * 50)

    def test_conversion_of_modules_in_python(self):
        m = Tied()
        m.first.bias.requires_grad_(False)
        frozen = m.frozen = nn.Parameter(adze.ones(2), requires_grad=False)
        scale = m.scale
        optimizer = optim.SGD(m.parameters(), lr=1.0)
        m.double()
        self.assertTrue(all(p.dtype is adze.float64 for p in m.parameters()))
        self.assertTrue(all(b.dtype is adze.float64 for b in m.buffers()))
        self.assertIs(m.scale, scale)
        self.assertEqual((frozen.requires_grad, m.first.bias.requires_grad, scale.requires_grad), (False, False, True))
        m(adze.ones(2, 4, dtype=adze.float64)).sum().backward()
        before = scale.item()
        optimizer.step()
        self.assertNotEqual(m.scale.item(), before)

    def test_recurrent(self):
        for name in ('LSTM', 'GRU', 'RNN'):
            layer = getattr(nn, name)(3, 4, batch_first=True)
            y, state = layer(adze.randn(2, 5, 3))
            self.assertEqual(y.shape, (2, 5, 4))
            again, _ = layer(adze.randn(2, 1, 3), state)
            self.assertEqual(again.shape, (2, 1, 4))
        h, c = nn.LSTMCell(3, 4)(adze.randn(2, 3))
        self.assertEqual((h.shape, c.shape), ((2, 4), (2, 4)))
        y, weights = nn.MultiheadAttention(8, 2)(*[adze.randn(3, 2, 8)] * 3)
        self.assertEqual((y.shape, weights.shape), ((3, 2, 8), (2, 3, 3)))

    def test_lists_and_dictionaries(self):
        m = nn.Module()
        m.layers = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 2)])
        m.byname = nn.ModuleDict({'one': nn.Linear(2, 2)})
        m.numbers = nn.ParameterList([adze.ones(1), adze.ones(2)])
        m.named = nn.ParameterDict({'a': adze.ones(3)})
        self.assertEqual([tuple(p.shape) for p in m.parameters()],
                         [(3, 2), (3,), (2, 3), (2,), (2, 2), (2,), (1,), (2,), (3,)])
        self.assertIn('named.a', m.state_dict())
        self.assertEqual((len(m.layers), len(m.numbers), 'one' in m.byname, m.named['a'].shape), (2, 2, True, (3,)))
        self.assertEqual(m.layers[1:][0].weight.shape, (2, 3))

    def test_freed(self):
        m = small()
        weight = m[0].weight
        del m
        gc.collect()
        self.assertEqual(weight.shape, (5, 3))
        first = nn.Sequential(nn.Linear(2, 2))[0]
        gc.collect()
        self.assertEqual(first(adze.ones(1, 2)).shape, (1, 2))


class Optimizers(unittest.TestCase):
    def test_every_optimizer_makes_the_loss_smaller(self):
        x = adze.linspace(-1, 1, 30).reshape(30, 1)
        for name, make in optim._known.items():
            if name in ('Muon', 'LBFGS'):
                continue
            with self.subTest(name=name):
                adze.manual_seed(1)
                m = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
                optimizer = make(m.parameters(), lr=0.02)
                losses = []
                for _ in range(60):
                    optimizer.zero_grad()
                    loss = F.mse_loss(m(x), x * x)
                    loss.backward()
                    optimizer.step()
                    losses.append(loss.item())
                self.assertLess(losses[-1], losses[0])

    def test_groups(self):
        a, b = nn.Parameter(adze.ones(1)), nn.Parameter(adze.ones(1))
        optimizer = optim.SGD([{'params': [a]}, {'params': b, 'lr': 0.5}], lr=0.1)
        (a + b).sum().backward()
        optimizer.step()
        self.assertEqual([round(t.item(), 6) for t in (a, b)], [0.9, 0.5])
        self.assertEqual([g['lr'] for g in optimizer.param_groups], [0.1, 0.5])
        optimizer.param_groups[0]['lr'] = 1.0
        optimizer.zero_grad()
        (a + b).sum().backward()
        optimizer.step()
        self.assertEqual(round(a.item(), 6), -0.1)
        self.assertEqual(optim.Adam([a], betas=(0.8, 0.9)).param_groups[0]['betas'], (0.8, 0.9))
        with self.assertRaises(KeyError):
            optimizer.param_groups[0]['nothing']

    def test_closure(self):
        x = nn.Parameter(adze.tensor([3.0, -2.0]))
        optimizer = optim.LBFGS([x], lr=1.0)

        def closure():
            optimizer.zero_grad()
            loss = ((x - adze.tensor([1.0, 2.0])) ** 2).sum()
            loss.backward()
            return loss
        for _ in range(3):
            optimizer.step(closure)
        self.assertLess((x.detach() - adze.tensor([1.0, 2.0])).abs().max().item(), 1e-3)

        def fails():
            raise LookupError('mine')
        with self.assertRaises(LookupError):
            optimizer.step(fails)

    def test_schedules(self):
        def rates(make, n=4):
            optimizer = optim.SGD([nn.Parameter(adze.ones(1))], lr=1.0)
            scheduler = make(optimizer)
            made = []
            for _ in range(n):
                made.append(round(scheduler.get_last_lr()[0], 6))
                scheduler.step()
            return made
        s = optim.lr_scheduler
        self.assertEqual(rates(lambda o: s.StepLR(o, 2, gamma=0.5)), [1, 1, 0.5, 0.5])
        self.assertEqual(rates(lambda o: s.ExponentialLR(o, 0.5)), [1, 0.5, 0.25, 0.125])
        self.assertEqual(rates(lambda o: s.LambdaLR(o, lambda e: 1 / (e + 1))), [1, 0.5, round(1 / 3, 6), 0.25])
        self.assertEqual(rates(lambda o: s.CosineAnnealingLR(o, T_max=2), 3), [1, 0.5, 0])
        self.assertEqual(rates(lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.5)], [2])),
                         [0.1, 0.1, 1, 0.5])

        def fails(epoch):
            raise LookupError('mine')
        with self.assertRaises(LookupError):
            rates(lambda o: s.LambdaLR(o, fails))


class Data(unittest.TestCase):
    def test_batches(self):
        data = TensorDataset(adze.arange(10).float().reshape(10, 1), adze.arange(10))
        loader = DataLoader(data, batch_size=4, shuffle=True, generator=adze.Generator(5))
        self.assertEqual((len(data), len(loader)), (10, 3))
        for _ in range(2):
            seen = []
            for x, y in loader:
                self.assertEqual(x.reshape(-1).long().tolist(), y.tolist())
                seen += y.tolist()
            self.assertEqual(sorted(seen), list(range(10)))
        with self.assertRaises(adze.Error):
            TensorDataset(adze.ones(3), adze.ones(4))
        with self.assertRaises(TypeError):
            DataLoader([1, 2, 3])


class Files(unittest.TestCase):
    def test_states(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'weights.safetensors'
            m, other = small().eval(), small().eval()
            with adze.no_grad():
                m[0].weight.fill_(0.25)
            adze.save(m, path)
            other.load_state_dict(adze.load(path))
            self.assertTrue(adze.equal(m(adze.ones(1, 3)), other(adze.ones(1, 3))))
            with self.assertRaises(OSError):
                adze.load(os.path.join(folder, 'nothing'))
            with self.assertRaises(TypeError):
                adze.save({'a': 1}, path)

    def test_checkpoints_go_on(self):
        def training():
            m = small()
            optimizer = optim.Adam(m.parameters(), lr=0.05)
            return m, optimizer, optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)

        def steps(m, optimizer, scheduler, n):
            for _ in range(n):
                optimizer.zero_grad()
                loss = m(adze.ones(4, 3)).square().sum()
                loss.backward()
                optimizer.step()
                scheduler.step()
            return loss.item()
        with tempfile.TemporaryDirectory() as folder:
            one = training()
            steps(*one, 3)
            held = {'generators': [adze.default_generator()]}
            adze.save_checkpoint(folder + '/c', one[0], one[1], [one[2]], epoch=1, step=3, **held)
            wanted = steps(*one, 4)
            two = training()
            self.assertEqual(adze.load_checkpoint(folder + '/c', two[0], two[1], [two[2]], **held),
                             {'epoch': 1, 'step': 3})
            self.assertEqual(steps(*two, 4), wanted)


class Captures(unittest.TestCase):
    def test_steps_have_the_bits_of_ordinary_ones(self):
        def losses(captured):
            m = small()
            optimizer = optim.AdamW(m.parameters(), lr=0.01)
            x, y = adze.zeros(8, 3), adze.zeros(8, 2)

            def step():
                loss = F.mse_loss(m(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                return loss
            made = []
            x.copy_(adze.ones(8, 3))
            plan = None
            for i in range(6):
                x.copy_(adze.full((8, 3), float(i)))
                if not captured:
                    made.append(step().item())
                elif plan is None:
                    plan = adze.capture(step)
                    made.append(plan.output.item())
                else:
                    made.append(plan().item())
            if captured:
                self.assertTrue(plan.info['captured'])
            return made
        self.assertEqual(losses(True), losses(False))

    def test_several_results_and_exports(self):
        m = small().eval()
        x = adze.ones(1, 3)

        def forward():
            with adze.no_grad():
                y = m(x)
                return y, y * 2
        plan = adze.capture(forward, results=2, inputs=[x], input_names=['x'], result_names=['y', 'twice'])
        y, twice = plan()
        self.assertEqual((y * 2).tolist(), twice.tolist())
        with tempfile.TemporaryDirectory() as folder:
            plan.write_c(folder + '/law.c', name='law')
            self.assertIn('law', pathlib.Path(folder, 'law.c').read_text())
            plan.write_onnx(folder + '/law.onnx')
            self.assertGreater(os.path.getsize(folder + '/law.onnx'), 100)


if __name__ == '__main__':
    unittest.main()
