"""The layers of the library as modules, made from its constructors: nn.Linear calls adze._adze.linear_new."""
import copy

from .. import _adze, _hooks
from .._tensor import Tensor, _dtype_of
from .module import Module
from .parameter import Parameter

_forward, _call = _adze.module_forward, _adze.module_call_named


# How many arguments have the order that PyTorch gives them, where that is not all.
LIMITS = {'Unfold': 1, 'Fold': 2, 'Embedding': 3, 'EmbeddingBag': 2, 'HingeEmbeddingLoss': 0, 'CosineEmbeddingLoss': 0,
          'MarginRankingLoss': 0, 'MultiMarginLoss': 0, 'Upsample': 1, 'RNNCell': 3, 'LSTMCell': 3, 'GRUCell': 3,
          'Transformer': 2, 'LinearCrossEntropyLoss': 2, 'NLLLoss': 1, 'CrossEntropyLoss': 1, 'BCELoss': 1,
          'BCEWithLogitsLoss': 1, 'PoissonNLLLoss': 2, 'MaxPool1d': 4, 'MaxPool2d': 4, 'MaxPool3d': 4}


class Layer(Module):
    """A module of the library. Its parameters, buffers and children are those of the library's module."""
    _make = None    # the constructor
    _names = {}     # PyTorch's names of arguments for those of the library

    def __init__(self, *args, **options):
        if type(self)._make is None:
            raise TypeError(f'{type(self).__name__} has no constructor')
        options.pop('device', None)
        if options.get('dtype', 0) is None:
            del options['dtype']
        elif 'dtype' in options:
            options['dtype'] = int(_dtype_of(options['dtype']))
        args, options = self._arguments(args, {self._names.get(n, n): v for n, v in options.items()})
        self._adopt(type(self)._make(*args, **options))
        for name, value in _given(type(self)._make, args, options): # what the layer itself does not keep
            self._arguments_of.setdefault(name, value)

    def _arguments(self, args, options):
        most = LIMITS.get(type(self).__name__, len(args))
        if len(args) > most:
            raise TypeError(f'{type(self).__name__} takes {most} arguments by position, because PyTorch has the others in '
                            'another order: give them by name')
        handles = [handle_of(a) if isinstance(a, Module) else a for a in args]
        return handles, {n: handle_of(v) if isinstance(v, Module) else v for n, v in options.items()}

    def _adopt(self, handle):
        Module.__init__(self)
        self.__dict__['_handle'] = handle
        self.__dict__['_arguments_of'] = _adze.module_fields(handle)
        if _adze.module_name(handle) == 'Linear': # which keeps its weight alone
            out, into, *block = _adze.module_parameter_at(handle, 0).shape # a block of Q8_0 has 32 values in 34 bytes
            self._arguments_of.update(in_features=32 * into if block else into, out_features=out)
        self.__dict__['training'] = _adze.module_is_training(handle) # a network from a file begins in evaluation
        for name, value in _own(handle, _adze.module_parameter_count, _adze.module_parameter_name_at,
                                _adze.module_parameter_at):
            self._parameters[name] = None if value is None else Parameter._of(value)
        for name, value in own_buffers(handle):
            self._buffers[name] = value
        for i in range(_adze.module_child_count(handle)):
            child = layer_of(_adze.module_child_at(handle, i))
            child.__dict__['_inside'] = True # the library calls it
            self._modules[_adze.module_child_name_at(handle, i)] = child

    def __getattr__(self, name):
        found = self.__dict__.get('_arguments_of', ())
        if name in found and name not in self.__dict__.get('_parameters', ()):
            return found[name] # such as in_features
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        store = self.__dict__
        if '_handle' in store and name in store['_arguments_of'] and name not in store['_parameters']:
            raise AttributeError(f'{name} of {type(self).__name__} is fixed: make the layer anew')
        if '_handle' in store and isinstance(value, Parameter) and name in store['_parameters']:
            _adze.module_set_parameter(self._handle, name, value)
            store['_parameters'][name] = value
        elif '_handle' in store and isinstance(value, Tensor) and name in store['_buffers']:
            _adze.module_set_buffer(self._handle, name, value)
            store['_buffers'][name] = value
        elif '_handle' in store and value is None and name in store['_parameters']:
            _adze.module_set_parameter(self._handle, name, None) # refused where the layer needs it
            store['_parameters'][name] = None
        elif '_handle' in store and name == 'training':
            _adze.module_train(self._handle, value)
            store['training'] = value
        elif '_handle' in store and isinstance(value, Module):
            raise TypeError(f'the children of {type(self).__name__} are fixed: make the layer anew')
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        if any(name in self.__dict__[kind] for kind in ('_parameters', '_buffers', '_modules')):
            raise TypeError(f'{type(self).__name__} keeps its {name}: set it to None, or make the layer anew')
        super().__delattr__(name)

    def __call__(self, *inputs, **named):
        if '_hooks' in self.__dict__:
            return _hooks.called(self, inputs, named, self.forward)
        if len(inputs) == 1 and not named and type(self).forward is Layer.forward:
            return _forward(self._handle, inputs[0])
        return self.forward(*inputs, **named)

    def forward(self, *inputs, **named):
        return _call(self._handle, [(None, x) for x in inputs] + list(named.items()))

    def train(self, mode=True):
        _adze.module_train(self._handle, mode)
        return super().train(mode)

    def _convert_own(self, dtype):
        _adze.module_to(self._handle, int(dtype))

    def reset_parameters(self):
        _adze.module_reset_parameters(self._handle)

    def extra_repr(self):
        text = _adze.module_to_string(self._handle).split('\n')[0]
        return text[text.index('(') + 1:].rstrip(')') if '(' in text else ''

    def _get_name(self):
        return _adze.module_name(self._handle)

    def __repr__(self):
        return _adze.module_to_string(self._handle)

    def __reduce_ex__(self, protocol):
        raise TypeError(f'{type(self).__name__}: modules are not pickled: adze.save(module, path) writes the state, and '
                        'module.load_state_dict(adze.load(path)) reads it')

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        made._adopt(_adze.module_copy(self._handle))
        memo[id(self)] = made
        for old, new in zip(self.modules(), made.modules()):
            new.training = old.training
            for name, p in old._parameters.items():
                if p is not None and id(p) not in memo and name in new._parameters:
                    memo[id(p)] = new._parameters[name]
                elif p is not None: # shared with a layer that was copied before, or of a subclass
                    setattr(new, name, copy.deepcopy(p, memo))
            for name in old._buffers.keys() - new._buffers.keys():
                new.register_buffer(name, copy.deepcopy(old._buffers[name], memo), name not in old._not_saved)
        made._arguments_of.update(self._arguments_of)
        for name in self.__dict__.keys() - made.__dict__.keys() - {'_inside'}:
            made.__dict__[name] = copy.deepcopy(self.__dict__[name], memo)
        return made


def _given(make, args, options):
    names = [part.split('=')[0].strip() for part in (make.__text_signature__ or '()').strip('()').split(',')]
    for name, value in [*zip(names, args), *options.items()]:
        if name != 'dtype' and isinstance(value, (bool, int, float, str, tuple)):
            yield name, value


def _own(handle, count, name_at, at):
    return [(name_at(handle, i), at(handle, i)) for i in range(count(handle))]


def own_buffers(handle):
    return [(name, value) for name, value in _adze.module_named_buffers(handle) if '.' not in name]


class _Listed(Layer):
    """The library's own list of modules, such as the layers of an encoder."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, i):
        return list(self._modules.values())[i]


def layer_of(handle):
    """A module of Python around a module of the library."""
    name = _adze.module_name(handle)
    made = known.get(name, _Listed if name in ('Sequential', 'ModuleList') else Layer)
    self = made.__new__(made)
    self._adopt(handle)
    return self


def handle_of(module):
    """The module of the library behind a layer, or behind a Sequential of layers; else one that calls forward."""
    if isinstance(module, Layer):
        handle = None if overridden(module) or '_hooks' in module.__dict__ else module._handle
    else:
        handle = getattr(module, '_fused', lambda: None)() if type(module).__name__ == 'Sequential' else None
    return mirror_of(module) if handle is None else handle


def overridden(layer):
    """Whether a subclass of a layer has a forward of its own, which the library's module does not know."""
    own = next((c for c in type(layer).__mro__ if known.get(c.__name__) is c or '_of_library' in vars(c)), Layer)
    return type(layer).forward is not own.forward or type(layer).__call__ is not own.__call__


def mirror_of(module):
    """A module of the library that calls a module of Python, with its parameters, buffers and children by name."""
    handle = _adze.module_of(module.__call__)
    for name, p in module._parameters.items():
        if p is not None:
            _adze.module_add_parameter(handle, name, p)
    for name, b in module._buffers.items():
        if b is not None:
            _adze.module_add_buffer(handle, name, b, name not in module._not_saved)
    for name, child in module.named_children():
        _adze.module_add_child(handle, name, handle_of(child))
    _adze.module_train(handle, module.training)
    return handle


class _Recurrent(Layer):
    """y, and the last state."""

    def __call__(self, input, hx=None):
        if '_hooks' in self.__dict__:
            return _hooks.called(self, (input,) if hx is None else (input, hx), {}, self.forward)
        return self.forward(input, hx)

    def forward(self, input, hx=None):
        names = ('h0', 'c0')
        given = [] if hx is None else list(zip(names, hx if isinstance(hx, (tuple, list)) else (hx,)))
        results = _adze.module_results(self._handle, [(None, input)] + given)
        rest = tuple(t for _, t in results[1:])
        return results[0][1], rest if len(rest) > 1 else rest[0]


class _Cell(Layer):
    """The next state."""

    def __call__(self, input, hx=None):
        if '_hooks' in self.__dict__:
            return _hooks.called(self, (input,) if hx is None else (input, hx), {}, self.forward)
        return self.forward(input, hx)

    def forward(self, input, hx=None):
        given = [] if hx is None else list(hx) if isinstance(hx, (tuple, list)) else [hx]
        results = _adze.module_results(self._handle, [(None, t) for t in [input] + given])
        all_ = tuple(t for _, t in results)
        return all_ if len(all_) > 1 else all_[0]


class _Attention(Layer):
    """The result, and the weights if they are needed."""

    def __call__(self, *inputs, **named):
        if '_hooks' in self.__dict__:
            return _hooks.called(self, inputs, named, self.forward)
        return self.forward(*inputs, **named)

    def forward(self, *inputs, **named):
        need = named.pop('need_weights', True)
        results = [t for _, t in _adze.module_results(self._handle, [(None, x) for x in inputs] + list(named.items()))]
        return results[0], results[1] if need and len(results) > 1 else None


class _Convolution(Layer):
    """The order of PyTorch's arguments is not that of the library's options."""
    _order = ('stride', 'padding', 'dilation', 'groups', 'bias', 'padding_mode')

    def _arguments(self, args, options):
        if len(args) > 3 + len(self._order):
            raise TypeError(f'{type(self).__name__} takes at most {3 + len(self._order)} arguments')
        for name, value in zip(self._order, args[3:]):
            if name in options:
                raise TypeError(f'{type(self).__name__} got {name} twice')
            options[name] = value
        if isinstance(options.get('padding'), str):
            options['padding_rule'] = options.pop('padding')
        return super()._arguments(args[:3], options)


class _Transposed(_Convolution):
    _order = ('stride', 'padding', 'output_padding', 'groups', 'bias', 'dilation', 'padding_mode')


class _ReLU(Layer):
    _make = _adze.relu_new

    def __init__(self, inplace=False):
        self._adopt(_adze.relu_inplace_new() if inplace else _adze.relu_new())


class _Activation(Layer):
    """Layers that PyTorch can compute in place. adze computes a new tensor: the values are the same."""

    def __init__(self, *args, inplace=False, **options):
        super().__init__(*args, **options)


def _kind(name):
    if name in ('LSTM', 'GRU', 'RNN'):
        return _Recurrent
    if name in ('LSTMCell', 'GRUCell', 'RNNCell'):
        return _Cell
    if name == 'MultiheadAttention':
        return _Attention
    if name.startswith('Conv'):
        return _Transposed if 'Transpose' in name else _Convolution
    if name in ('LeakyReLU', 'ELU', 'SELU', 'CELU', 'SiLU', 'Mish', 'Hardswish', 'Hardsigmoid', 'Hardtanh', 'ReLU6',
                'RReLU', 'Threshold', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'AlphaDropout',
                'FeatureAlphaDropout'):
        return _Activation
    return Layer


known = {}
for _pair in _adze.layers.split():
    _name, _function = _pair.split('=')
    if _name in ('Sequential', 'ModuleList', 'ModuleDict', 'ParameterList', 'ParameterDict', 'Module'):
        continue
    _new = getattr(_adze, _function)
    known[_name] = _ReLU if _name == 'ReLU' else type(_name, (_kind(_name),), {
        '_make': staticmethod(_new), '__doc__': _new.__doc__, '__module__': 'adze.nn'})
known['ReLU'].__name__ = known['ReLU'].__qualname__ = 'ReLU'
