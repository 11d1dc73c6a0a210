"""Optimizers: adze.optim.SGD calls adze._adze.sgd_new."""
import collections.abc

from .. import _adze


class Group(collections.abc.MutableMapping):
    """One group of parameters: its rate and its other settings, which the library reads at each step."""

    def __init__(self, optimizer, index, names):
        self._handle, self._index, self._names = optimizer, index, names

    def __getitem__(self, name):
        if name == 'params':
            return _adze.optimizer_group_parameters(self._handle, self._index)
        if name == 'betas':
            return self['beta1'], self['beta2']
        if name not in self._names:
            raise KeyError(name)
        return _adze.optimizer_get(self._handle, self._index, name)

    def __setitem__(self, name, value):
        if name == 'betas':
            self['beta1'], self['beta2'] = value
        elif name == 'params':
            raise TypeError('the parameters of a group are fixed')
        else:
            _adze.optimizer_set(self._handle, self._index, name, float(value))

    def __delitem__(self, name):
        raise TypeError('a group keeps its settings')

    def __iter__(self):
        return iter(['params', *self._names])

    def __len__(self):
        return len(self._names) + 1

    def __repr__(self):
        return repr({name: self[name] for name in self._names})


# How many arguments behind the parameters have the order that PyTorch gives them, where that is not all.
LIMITS = {'Adam': 1, 'AdamW': 1, 'Adamax': 1, 'NAdam': 1, 'RAdam': 1, 'Adagrad': 2, 'Adadelta': 4, 'Adafactor': 2,
          'Muon': 1}


class Optimizer:
    """Changes parameters by their gradients."""
    _make, _defaults = None, {}

    def __init__(self, params, *args, **options):
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
        groups = [params] if isinstance(params, _adze.Tensor) else list(params)
        if groups and isinstance(groups[0], dict):
            groups = [dict(g) for g in groups]
        else:
            groups = [{'params': [p[1] if isinstance(p, tuple) else p for p in groups]}]
        first = _parameters(groups[0])
        self._handle = type(self)._make(first, *args, **options)
        self.param_groups = [Group(self._handle, 0, self._settings())]
        _set(self.param_groups[0], groups[0])
        for group in groups[1:]:
            self.add_param_group(group)

    def _settings(self):
        found = []
        for name in _names_of(type(self)._make):
            try:
                _adze.optimizer_get(self._handle, 0, name)
                found.append(name)
            except _adze.Error:
                continue
        return found

    def add_param_group(self, group):
        index = _adze.optimizer_add_param_group(self._handle, _parameters(group))
        self.param_groups.append(Group(self._handle, index, self._settings()))
        _set(self.param_groups[-1], group)

    def step(self, closure=None):
        """Changes every parameter that has a gradient. With a closure it returns the loss, a number."""
        if closure is None:
            return _adze.optimizer_step(self._handle)
        return _adze.optimizer_step_closure(self._handle, closure)

    def zero_grad(self, set_to_none=True):
        if set_to_none:
            _adze.optimizer_zero_grad(self._handle)
        else:
            _adze.optimizer_fill_grad_zero(self._handle)

    def __repr__(self):
        return f'{type(self).__name__}({self.param_groups!r})'


def _parameters(group):
    params = group['params']
    return [params] if isinstance(params, _adze.Tensor) else list(params)


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
