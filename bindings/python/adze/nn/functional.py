"""The operators under the names of torch.nn.functional."""
from .. import _adze

for _name in _adze.operators.split():
    globals()[_name] = getattr(_adze, _name)
tanh, sigmoid = _adze.tanh, _adze.sigmoid


def relu(input, inplace=False):
    """The larger of 0 and x."""
    return _adze.relu_(input) if inplace else _adze.relu(input)


def pad(input, pad, mode='constant', value=0.0):
    """Adds elements before and behind dimensions, the last one first."""
    return _adze.pad(input, pad, value) if mode == 'constant' else _adze.pad_mode(input, pad, mode)


def softmax(input, dim, dtype=None):
    """Softmax along one dimension."""
    return _adze.softmax(input if dtype is None else input.to(dtype), dim)


def log_softmax(input, dim, dtype=None):
    """The logarithm of softmax along one dimension."""
    return _adze.log_softmax(input if dtype is None else input.to(dtype), dim)


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements at random and scales the others."""
    return _adze.dropout(input, p, training)


def _rule(options):
    """PyTorch's padding 'same' is a rule of its own in the library."""
    if isinstance(options['padding'], str):
        options['padding_rule'] = options.pop('padding')
    return options


def _convolution(function):
    def call(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return function(input, weight, bias, **_rule({'stride': stride, 'padding': padding, 'dilation': dilation,
                                                      'groups': groups}))
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _transposed(function):
    def call(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return function(input, weight, bias, stride=stride, padding=padding, output_padding=output_padding,
                        groups=groups, dilation=dilation)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _windowed(function):
    def call(input, kernel_size, stride=(), padding=0, **options):
        if stride is not None:
            options['stride'] = stride
        return function(input, kernel_size, padding=padding, **options)
    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def _first(function):
    def call(*args, **options):
        made = function(*args, **options)
        return made[0] if isinstance(made, tuple) else made
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


for _n in '123':
    globals()[f'conv{_n}d'] = _convolution(getattr(_adze, f'conv{_n}d'))
    globals()[f'conv_transpose{_n}d'] = _transposed(getattr(_adze, f'conv_transpose{_n}d'))
    globals()[f'max_pool{_n}d'] = _windowed(_first(getattr(_adze, f'max_pool{_n}d')))
    globals()[f'adaptive_max_pool{_n}d'] = _first(getattr(_adze, f'adaptive_max_pool{_n}d'))
    globals()[f'avg_pool{_n}d'] = _windowed(getattr(_adze, f'avg_pool{_n}d'))


def mse_loss(input, target, reduction='mean'):
    """The squared error."""
    return _adze.mse_loss(input, target, reduction)


def _limited(function, most):
    """A function of which only the first arguments have the order that PyTorch gives them."""
    def call(*args, **options):
        if len(args) > most:
            raise TypeError(f'{function.__name__} takes {most} arguments by position, because PyTorch has the others in '
                            'another order: give them by name')
        return function(*args, **options)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


for _name, _most in {'hinge_embedding_loss': 2, 'cosine_embedding_loss': 3, 'margin_ranking_loss': 3, 'embedding': 3,
                     'multi_margin_loss': 2, 'embedding_bag': 3, 'interpolate': 2, 'unfold': 2, 'fold': 3,
                     'cross_entropy': 3, 'nll_loss': 3, 'gumbel_softmax': 3, 'kl_div': 2, 'scaled_dot_product_attention': 4}.items():
    globals()[_name] = _limited(getattr(_adze, _name), _most)
