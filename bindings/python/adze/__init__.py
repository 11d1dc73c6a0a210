"""adze trains neural networks, in PyTorch's words. docs/python.md says what differs.

    import adze
    from adze import nn

    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = adze.optim.AdamW(model.parameters(), lr=1e-3)
    loss = nn.functional.mse_loss(model(adze.randn(64, 8)), adze.zeros(64, 1))
    loss.backward()
    optimizer.step()
"""
import builtins as _builtins

from . import _adze
from ._adze import Error
from ._dtype import (dtype, float32, float64, int32, int64, uint8, bool, float16, bfloat16,  # noqa: F401, A004
                     float, double, half, long)
from ._dtype import int_ as int  # noqa: A004
from ._tensor import Tensor

_adze.set_classes(Tensor, dtype)
for _name in dir(_adze):
    if _name.endswith('Error'):
        globals()[_name] = getattr(_adze, _name)
for _name in _adze.operators.split():
    globals()[_name] = getattr(_adze, _name)

from ._factories import (arange, as_tensor, empty, empty_like, eye, from_dlpack, from_numpy, frombuffer,  # noqa: E402
                         full, full_like, linspace, logspace, ones, ones_like, rand, rand_like, randint, randn,
                         randn_like, randperm, tensor, zeros, zeros_like)
from ._adze import (allclose, equal, default_generator, empty_cache, get_num_threads, manual_seed,  # noqa: E402
                    set_num_threads, promote_types)
from ._adze import generator_new as Generator  # noqa: E402
from .autograd import (enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled)  # noqa: E402

__version__ = _adze.version
inf, nan, pi, e = _builtins.float('inf'), _builtins.float('nan'), 3.141592653589793, 2.718281828459045


def _forwarded(name):
    """adze.max(x, dim) is x.max(dim), which chooses among several functions of the library."""
    method = getattr(Tensor, name)

    def call(input, *args, **options):
        return method(input, *args, **options)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.__doc__
    return call


for _name in ('max', 'min', 'squeeze', 'split', 'chunk', 'unbind', 'var', 'std', 'clamp', 'norm', 'argmax', 'median',
              'unique', 'unique_consecutive', 'sort', 'topk', 'kthvalue', 'mode', 'cummax', 'cummin'):
    globals()[_name] = _forwarded(_name)
clip = clamp  # noqa: F821
from . import _factories, _more  # noqa: E402

_more.add_new(_factories)
globals().update(_more.FUNCTIONS)
concat = concatenate = cat  # noqa: F821


def add(input, other, *, alpha=1):
    """input + alpha other."""
    return input + other if alpha == 1 else _adze.add_scaled(input, other, alpha)


def sub(input, other, *, alpha=1):
    """input - alpha other."""
    return input - other if alpha == 1 else _adze.sub_scaled(input, other, alpha)


def where(condition, input=None, other=None):
    """Elements of input where the condition is true, else those of other. One of both may be a number. Without both, the
    positions at which the condition is true: a tensor for each dimension."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)  # noqa: F821
    a, b = (x if isinstance(x, Tensor) else full((), x) for x in (input, other))
    first, second = isinstance(input, Tensor), isinstance(other, Tensor)
    if first != second: # a number takes the tensor's dtype, unless it is of a higher kind
        tensor, number = (a, b) if first else (b, a)
        number = number if _kind_of(number) > _kind_of(tensor) else number.to(tensor.dtype)
        a, b = (tensor, number) if first else (number, tensor)
    dtype = promote_types(_builtins.int(a.dtype), _builtins.int(b.dtype))
    return _adze.where(condition, a.to(dtype), b.to(dtype))


def _kind_of(x):
    """0 for truth values, 1 for whole numbers, 2 for floats."""
    return 2 if x.is_floating_point() else 0 if x.dtype == bool else 1


def is_tensor(x):
    """Whether an object is a tensor of adze."""
    return isinstance(x, Tensor)


def numel(input):
    """The number of elements."""
    return input.numel()


class device(str):
    """The processor: adze has no other device."""

    def __new__(cls, name, index=None):
        if str(name).split(':')[0] != 'cpu':
            raise ValueError(f'adze computes on the processor and not on {name!r}')
        return super().__new__(cls, 'cpu')

    @property
    def type(self):
        return 'cpu'


class cuda:
    """Programs ask whether it is there."""

    @staticmethod
    def is_available():
        return False


def set_default_dtype(d):
    """adze has one default dtype, float32: name another one where tensors and modules are made."""
    if d is not float32:
        raise NotImplementedError('adze has the default dtype float32; give dtype= where tensors and modules are made')


def get_default_dtype():
    """float32."""
    return float32


from . import autograd, func, linalg, models, nn, optim, solvers, special, utils  # noqa: E402, F401
for _name in [f'{kind}{n}d' for kind in ('conv', 'conv_transpose') for n in '123']:
    globals()[_name] = getattr(nn.functional, _name)
from ._plan import Plan, capture  # noqa: E402, F401
from ._loops import cond, scan, while_loop  # noqa: E402, F401
from ._files import load, load_checkpoint, onnx_load, save, save_checkpoint  # noqa: E402, F401


def __getattr__(name):
    from . import _hints
    raise AttributeError(f"module 'adze' has no attribute {name!r}{_hints.of(name, globals())}")
