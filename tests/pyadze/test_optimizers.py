#!/usr/bin/env python3
"""Optimizers of a program's own in both forms, and the states of optimizers and schedules as dictionaries."""
import math
import unittest

import adze
from adze import nn, optim


class Momentum(optim.Optimizer):
    """SGD with momentum, as an update of the library."""
    settings = {'lr': 0.1, 'momentum': 0.9, 'nesterov': False}
    states = ('momentum_buffer',)

    def update(self, parameter, gradient, state, group):
        buffer = group['momentum'] * state['momentum_buffer'] + gradient
        change = gradient + group['momentum'] * buffer if group['nesterov'] else buffer
        return parameter - group['lr'] * change, {'momentum_buffer': buffer}


class Adam(optim.Optimizer):
    settings = {'lr': 1e-3, 'beta1': 0.9, 'beta2': 0.999, 'eps': 1e-8}
    states = ('exp_avg', 'exp_avg_sq')

    def update(self, parameter, gradient, state, group):
        m = group['beta1'] * state['exp_avg'] + (1 - group['beta1']) * gradient
        v = group['beta2'] * state['exp_avg_sq'] + (1 - group['beta2']) * gradient * gradient
        root = (v / (1 - group['beta2'] ** group['step'])).sqrt() + group['eps']
        return parameter - group['lr'] * m / (1 - group['beta1'] ** group['step']) / root, {'exp_avg': m, 'exp_avg_sq': v}


class Torch(optim.Optimizer):
    """SGD with momentum, as PyTorch's users write it."""

    def __init__(self, params, lr=0.1, momentum=0.9, name='mine'):
        super().__init__(params, dict(lr=lr, momentum=momentum, name=name))

    @adze.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is not None:
                    state = self.state[p]
                    if 'buffer' not in state:
                        state['buffer'] = adze.zeros_like(p)
                    state['buffer'].mul_(group['momentum']).add_(p.grad)
                    p.add_(state['buffer'], alpha=-group['lr'])


class Every(optim.Optimizer):
    """A step of size lr, at every k-th call."""

    def __init__(self, params, lr=1, k=2, factor=3.0, loud=False):
        super().__init__(params, dict(lr=lr, k=k, factor=factor, loud=loud))

    def step(self):
        pass


class Training:
    def __init__(self, make):
        adze.manual_seed(3)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.x = adze.randn(8, 3)
        self.y = self.x.sum(1, keepdim=True)
        self.optimizer = make(self.model.parameters())
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)

    def step(self):
        loss = nn.functional.mse_loss(self.model(self.x), self.y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def losses(self, steps):
        made = []
        for _ in range(steps):
            made.append(self.step().item())
            self.schedule.step()
        return made


MAKERS = {'Momentum': Momentum, 'Adam': Adam, 'Torch': Torch, 'nesterov': lambda p: Momentum(p, lr=0.05, nesterov=True)}
SAME = {'Momentum': lambda p: optim.SGD(p, lr=0.1, momentum=0.9), 'Adam': lambda p: optim.Adam(p, lr=1e-3),
        'Torch': lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
        'nesterov': lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True)}


class Own(unittest.TestCase):
    def test_losses_are_those_of_the_library(self):
        for name, make in MAKERS.items():
            with self.subTest(name):
                for a, b in zip(Training(make).losses(6), Training(SAME[name]).losses(6)):
                    self.assertAlmostEqual(a, b, delta=1e-5 * abs(b))

    def test_captured(self):
        for name in ('Momentum', 'Adam', 'nesterov'):
            with self.subTest(name):
                t = Training(MAKERS[name])
                plan = adze.capture(t.step)
                made = [plan.output.item()]
                for _ in range(5):
                    t.schedule.step()
                    made.append(plan().item())
                self.assertEqual(made, Training(MAKERS[name]).losses(6))

    def test_groups(self):
        a, b = nn.Parameter(adze.ones(2)), nn.Parameter(adze.ones(2))
        for make in (Momentum, Torch):
            o = make([{'params': [a], 'lr': 0.5}, {'params': [b]}])
            self.assertEqual([g['lr'] for g in o.param_groups], [0.5, 0.1])
            self.assertIs(o.param_groups[0]['params'][0], a)
            self.assertEqual(o.param_groups[1]['momentum'], 0.9)
        self.assertEqual(o.param_groups[0]['name'], 'mine')

    def test_settings_that_are_tensors(self):
        p = nn.Parameter(adze.ones(2))
        self.assertEqual(Torch([p], adze.tensor(0.25)).param_groups[0]['lr'], 0.25)
        group = Momentum([p], lr=adze.tensor(0.5), momentum=adze.tensor(0.25)).param_groups[0]
        self.assertEqual((group['lr'], group['momentum']), (0.5, 0.25))

    def test_errors(self):
        p = nn.Parameter(adze.ones(2))
        p.grad = adze.ones(2)

        def own(update):
            return type('O', (optim.Optimizer,), {'settings': {'lr': 0.1}, 'states': ('m',), 'update': update})([p])
        for update, kind, message in ((lambda *_: {}['mine'], LookupError, 'mine'), (lambda *_: 3, TypeError, 'dictionary'),
                                      (lambda s, w, g, state, group: (w, {'other': g}), KeyError, 'other'),
                                      (lambda s, w, g, state, group: (w.sum(), {}), adze.Error, ''),
                                      (lambda s, w, g, state, group: (w, {'m': 3}), TypeError, 'not int')):
            with self.assertRaisesRegex(kind, message):
                own(update).step()
            self.assertEqual(p.tolist(), [1, 1])
        with self.assertRaisesRegex(TypeError, 'settings by name: lr'):
            Momentum([p], 0.1)
        with self.assertRaisesRegex(TypeError, 'settings by name'):
            Momentum([p], other=3)
        for rate in (None, '0.1', [0.1]):
            with self.assertRaisesRegex(TypeError, 'setting lr of an optimizer is a number'):
                Torch([p], rate)
        with self.assertRaisesRegex(TypeError, 'setting momentum of an optimizer is a number'):
            Momentum([p], momentum=None)
        with self.assertRaisesRegex(TypeError, 'neither an update nor a step'):
            optim.Optimizer([p], {'lr': 0.1})
        with self.assertRaises(adze.Error):
            Momentum([])
        with self.assertRaisesRegex(adze.UnsupportedError, 'call step'):
            adze._adze.optimizer_step(Momentum([p])._handle)


class States(unittest.TestCase):
    def test_goes_on_with_the_same_bits(self):
        makers = {**MAKERS, 'AdamW': lambda p: optim.AdamW(p, lr=1e-2, betas=(0.8, 0.99)), **{'S' + n: m for n, m in SAME.items()}}
        for name, make in makers.items():
            with self.subTest(name):
                whole = Training(make).losses(6)
                first = Training(make)
                first.losses(3)
                state, schedule = first.optimizer.state_dict(), first.schedule.state_dict()
                weights = {n: v.clone() for n, v in first.model.state_dict().items()}
                first.losses(2) # the dictionaries are copies
                second = Training(make)
                second.model.load_state_dict(weights)
                second.optimizer.load_state_dict(state)
                second.schedule.load_state_dict(schedule)
                self.assertEqual(second.losses(3), whole[3:])

    def test_names_of_pytorch(self):
        t = Training(lambda p: optim.Adam(p, lr=1e-3))
        t.losses(2)
        state = t.optimizer.state_dict()
        self.assertEqual(sorted(state['state']), [0, 1, 2, 3])
        self.assertEqual(sorted(state['state'][0]), ['exp_avg', 'exp_avg_sq', 'step'])
        self.assertEqual(state['param_groups'][0]['params'], [0, 1, 2, 3])
        self.assertEqual(state['param_groups'][0]['betas'], (0.9, 0.999))

    def test_numbers_of_parameters_are_those_of_the_groups(self):
        parameters = [nn.Parameter(adze.ones(2)), nn.Parameter(adze.ones(2))]
        optimizer = optim.SGD(parameters, lr=0.1, momentum=0.9)
        state = optimizer.state_dict()
        state['param_groups'][0]['params'] = [7, 3]
        state['state'] = {3: {'momentum_buffer': adze.full((2,), 3.0)}, 7: {'momentum_buffer': adze.full((2,), 7.0)}}
        optimizer.load_state_dict(state)
        loaded = optimizer.state_dict()
        self.assertEqual([loaded['state'][i]['momentum_buffer'].tolist() for i in (0, 1)], [[7.0, 7.0], [3.0, 3.0]])
        self.assertEqual(loaded['param_groups'][0]['params'], [0, 1])

    def test_what_does_not_fit_is_refused(self):
        t = Training(lambda p: optim.Adam(p, lr=1e-3))
        t.losses(2)
        state = t.optimizer.state_dict()
        before = str(state)
        other = Training(lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
        with self.assertRaises((adze.Error, KeyError)):
            other.optimizer.load_state_dict(state)
        less = Training(lambda p: optim.Adam(list(p)[:2], lr=1e-3))
        with self.assertRaisesRegex(ValueError, 'numbers of parameters'):
            less.optimizer.load_state_dict(state)
        wrong = t.optimizer.state_dict()
        wrong['state'][0]['exp_avg'] = adze.ones(7)
        with self.assertRaises(adze.Error):
            t.optimizer.load_state_dict(wrong)
        wrong = t.optimizer.state_dict()
        wrong['param_groups'][0]['unknown'] = 3
        with self.assertRaisesRegex(KeyError, 'unknown'):
            t.optimizer.load_state_dict(wrong)
        for lr in (math.nan, math.inf):
            wrong = t.optimizer.state_dict()
            wrong['param_groups'][0]['lr'] = lr
            with self.assertRaisesRegex(ValueError, 'lr is (nan|inf), but must be finite'):
                t.optimizer.load_state_dict(wrong)
        wrong = t.optimizer.state_dict()
        wrong['param_groups'][0]['betas'] = (0.9, math.nan)
        with self.assertRaisesRegex(ValueError, 'betas is nan, but must be finite'):
            t.optimizer.load_state_dict(wrong)
        self.assertEqual(str(t.optimizer.state_dict()), before)
        own = Training(MAKERS['nesterov'])
        own.losses(2)
        wrong = own.optimizer.state_dict()
        before = str(wrong)
        wrong['state'][9], wrong['param_groups'][0]['lr'] = {'mine': 3}, 0.7
        with self.assertRaisesRegex(ValueError, 'state 9 is of no parameter'):
            own.optimizer.load_state_dict(wrong)
        self.assertEqual(str(own.optimizer.state_dict()), before)
        with self.assertRaises(TypeError):
            t.schedule.load_state_dict({})


class Settings(unittest.TestCase):
    def test_whole_numbers_stay_whole(self):
        p = nn.Parameter(adze.ones(2))
        optimizer = Every([p])
        group = optimizer.param_groups[0]
        self.assertEqual([type(group[n]) for n in ('lr', 'k', 'factor', 'loud')], [float, int, float, bool])
        self.assertEqual(list(range(group['k'])), [0, 1])
        state = optimizer.state_dict()
        self.assertEqual([type(state['param_groups'][0][n]) for n in ('k', 'loud')], [int, bool])
        group['k'] = 7
        self.assertEqual((group['k'], type(group['k'])), (7, int))
        group['k'] = 2.5
        self.assertEqual(group['k'], 2.5)
        optimizer.load_state_dict(state)
        self.assertEqual((group['k'], type(group['k'])), (2, int))
        with self.assertRaises(OverflowError):
            Every([p], k=2**53 + 1)

    def test_settings_that_are_not_finite(self):
        p = nn.Parameter(adze.ones(2))
        for value in math.inf, -math.inf, math.nan:
            optimizer = Every([p], factor=value)
            state = optimizer.state_dict()
            self.assertEqual(str(state['param_groups'][0]['factor']), str(value))
            other = Every([p])
            other.load_state_dict(state)
            self.assertEqual(str(other.param_groups[0]['factor']), str(value))
            other.load_state_dict(Every([p]).state_dict())
            self.assertEqual(other.param_groups[0]['factor'], 3.0)
        sgd = optim.SGD([p], lr=0.1)
        wrong = sgd.state_dict()
        wrong['param_groups'][0]['lr'] = math.inf
        with self.assertRaisesRegex(ValueError, 'lr is inf'):
            sgd.load_state_dict(wrong)


if __name__ == '__main__':
    unittest.main()
