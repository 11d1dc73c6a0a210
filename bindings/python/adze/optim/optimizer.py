"""Optimizers: adze.optim.SGD calls adze._adze.sgd_new."""
import collections
import collections.abc

from .. import _adze
from . import own, state


class Group(collections.abc.MutableMapping):
    """One group of parameters: its rate and its other settings, which the library reads at each step."""

    def __init__(self, optimizer, index, names, params, more=None, kinds=None):
        self._handle, self._index, self._names, self._params = optimizer, index, names, params
        self._more = more # of an optimizer of the program's own: values that are no numbers; else None
        self._kinds = kinds or {} # settings that began as whole numbers or flags, which the library holds as float64

    def __getitem__(self, name):
        if name == 'params':
            return self._params
        if name == 'betas' and 'beta1' in self._names:
            return self['beta1'], self['beta2']
        if self._more is not None and name in self._more:
            return self._more[name]
        if name not in self._names and not (name == 'initial_lr' and self._has_initial_lr()):
            raise KeyError(name)
        value = _adze.optimizer_get(self._handle, self._index, name)
        kind = self._kinds.get(name)
        return kind(value) if kind is bool or kind is int and value.is_integer() else value

    def _has_initial_lr(self):
        try:
            _adze.optimizer_get(self._handle, self._index, 'initial_lr')
            return True
        except _adze.Error:
            return False

    def __setitem__(self, name, value):
        if name == 'betas' and 'beta1' in self._names:
            self['beta1'], self['beta2'] = value
        elif name == 'params':
            raise TypeError('the parameters of a group are fixed')
        elif self._more is not None and name not in self._names and name != 'initial_lr':
            self._more[name] = value
        else:
            _adze.optimizer_set(self._handle, self._index, name, float(value))

    def __delitem__(self, name):
        raise TypeError('a group keeps its settings')

    def __iter__(self):
        return iter(['params', *self._names, *(self._more or ())])

    def __len__(self):
        return len(self._names) + 1 + len(self._more or ())

    def __repr__(self):
        return repr({name: self[name] for name in self if name != 'params'})


# How many arguments behind the parameters have the order that PyTorch gives them, where that is not all.
LIMITS = {'Adam': 1, 'AdamW': 1, 'Adamax': 1, 'NAdam': 1, 'RAdam': 1, 'Adagrad': 2, 'Adadelta': 4, 'Adafactor': 2,
          'Muon': 1}


class Optimizer:
    """Changes parameters by their gradients.

    A subclass is an optimizer of the program's own, in one of two forms. With `settings`, `states` and

        def update(self, parameter, gradient, state, group):
            ... return new_parameter, {name: new_state}

    it is one of the library: captured steps, schedules and checkpoints know it. `group` has the settings as tensors
    with one element, flags as True or False, and 'step', which counts from 1. Or it has a method step() as in PyTorch,
    and calls super().__init__(params, defaults): step() goes through self.param_groups, and self.state[p] is a
    dictionary for each parameter.
    """
    _make, _defaults = None, {}
    settings, states = {}, ()
    _kinds = {}
    update = None

    def __init__(self, params, *args, **options):
        if type(self)._make is None:
            return self._init_own(params, args, options)
        for name in ('foreach', 'fused', 'capturable', 'differentiable'):
            options.pop(name, None) # of PyTorch: how it computes, not what
        most = LIMITS.get(type(self).__name__, len(args))
        if len(args) > most:
            raise TypeError(f'{type(self).__name__} takes the parameters and {most} arguments by position, because PyTorch '
                            'has the others in another order: give them by name')
        if 'betas' in options:
            options['beta1'], options['beta2'] = options.pop('betas')
        if not args:
            options = {**self._defaults, **options}
        groups = _groups(params)
        first = _parameters(groups[0])
        self._handle = type(self)._make(first, *args, **options)
        self.defaults = {}
        self._add_groups(groups, first)
        return None

    def _init_own(self, params, args, options):
        """An optimizer of the program's own: `args` are its defaults, or `options` the settings that differ."""
        name = type(self).__name__
        if type(self).update is not None:
            unknown = set(options) - set(self.settings) - ({'betas'} if 'beta1' in self.settings else set())
            if args or unknown:
                raise TypeError(f'{name} takes the parameters and settings by name: {", ".join(self.settings)}')
            self.defaults = {**self.settings, **{n: v for n, v in options.items() if n != 'betas'}}
            if 'betas' in options:
                self.defaults['beta1'], self.defaults['beta2'] = options['betas']
            rows = own.rows_of(self.settings)
            values = [own.number_of(n, self.defaults.get(n, v)) for n, v, _ in rows]
        elif type(self).step is not Optimizer.step:
            if len(args) != 1 or options or not isinstance(args[0], dict):
                raise TypeError(f'{name} calls super().__init__(params, defaults), with a dictionary of settings')
            self.defaults = dict(args[0])
            rows = own.rows_of(self.defaults)
            values = [v for _, v, _ in rows]
        else:
            raise TypeError(f'{name} has neither an update nor a step of its own')
        self._kinds = own.kinds_of(self.defaults)
        self._names_of_own = [n for n, _, _ in rows if n != 'lr' or 'lr' in self.defaults]
        self._type = own.type_of(name, rows, self.states)
        self._updater = own.updater(self, rows, list(self.states)) if type(self).update is not None else None
        self.state = collections.defaultdict(dict)
        groups = _groups(params)
        first = _parameters(groups[0])
        self._handle = _adze.optimizer_of(self._type, first, values)
        self._add_groups(groups, first)

    def _add_groups(self, groups, first):
        self.param_groups = [Group(self._handle, 0, self._settings(), first, self._more(), self._kinds)]
        _set(self.param_groups[0], groups[0])
        for group in groups[1:]:
            self.add_param_group(group)

    def _more(self):
        """What a new group has beside the library's settings; None for an optimizer of the library."""
        if type(self)._make is not None:
            return None
        return {n: v for n, v in self.defaults.items() if n not in self._names_of_own and n != 'betas'}

    def _settings(self):
        if type(self)._make is None:
            return list(self._names_of_own)
        found = []
        for name in _names_of(type(self)._make):
            try:
                _adze.optimizer_get(self._handle, 0, name)
                found.append(name)
            except _adze.Error:
                continue
        return found

    def add_param_group(self, group):
        params = _parameters(group)
        index = _adze.optimizer_add_param_group(self._handle, params)
        self.param_groups.append(Group(self._handle, index, self._settings(), params, self._more(), self._kinds))
        _set(self.param_groups[-1], group)

    def step(self, closure=None):
        """Changes every parameter that has a gradient. With a closure it returns the loss, a number."""
        if type(self)._make is None:
            loss = None if closure is None else closure()
            _adze.optimizer_step_by(self._handle, self._type, self._updater)
            return loss
        if closure is None:
            return _adze.optimizer_step(self._handle)
        return _adze.optimizer_step_closure(self._handle, closure)

    def state_dict(self):
        """The states and settings as torch.optim.Optimizer.state_dict has them: copies."""
        return state.of_optimizer(self)

    def load_state_dict(self, state_dict):
        """Sets the states and settings to those of a state_dict of an optimizer of the same kind and groups."""
        state.load_optimizer(self, state_dict)

    def zero_grad(self, set_to_none=True):
        if set_to_none:
            _adze.optimizer_zero_grad(self._handle)
        else:
            _adze.optimizer_fill_grad_zero(self._handle)

    def __repr__(self):
        return f'{type(self).__name__}({self.param_groups!r})'


def _groups(params):
    """What an optimizer is made with, as a list of dictionaries."""
    groups = [params] if isinstance(params, _adze.Tensor) else list(params)
    if groups and isinstance(groups[0], dict):
        return [dict(g) for g in groups]
    return [{'params': [p[1] if isinstance(p, tuple) else p for p in groups]}]


def _parameters(group):
    params = group['params']
    return [params] if isinstance(params, _adze.Tensor) else [p[1] if isinstance(p, tuple) else p for p in params]


def _set(group, given):
    for name, value in given.items():
        if name != 'params':
            group[name] = value


def _names_of(make):
    text = make.__text_signature__ or '()'
    return [part.split('=')[0].strip() for part in text.strip('()').split(',')][1:]


# PyTorch's rates where none is given.
RATES = {'SGD': 1e-3, 'ASGD': 1e-2, 'Adadelta': 1.0, 'Adafactor': 1e-2, 'Adagrad': 1e-2, 'Adamax': 2e-3, 'NAdam': 2e-3,
         'RMSprop': 1e-2, 'Rprop': 1e-2, 'LBFGS': 1.0}
known = {}
for _pair in _adze.optimizers.split():
    _name, _function = _pair.split('=')
    if _name != 'Optimizer':
        _new = getattr(_adze, _function)
        known[_name] = type(_name, (Optimizer,), {'_make': staticmethod(_new), '_defaults': {'lr': RATES.get(_name, 1e-3)},
                                                  '__doc__': _new.__doc__, '__module__': 'adze.optim'})
