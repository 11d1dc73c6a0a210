"""adze.Tensor: what it has beside the methods that are made from the library's headers."""
import builtins
import collections

from . import _adze, _hints, _index
from ._dtype import dtype, float16, float32, float64, bfloat16, int32, int64, uint8
from ._dtype import bool as bool_

_Extreme = collections.namedtuple('_Extreme', ['values', 'indices'])


def _dtype_of(one):
    """A dtype of adze for one of its own, a word, or a type of Python or numpy."""
    if isinstance(one, dtype):
        return one
    if one is builtins.float:
        return float32
    if one is builtins.int:
        return int64
    if one is builtins.bool:
        return bool_
    name = getattr(one, '__name__', None) or getattr(one, 'name', None) or one
    for known in dtype._all.values():
        if name in (known._name, 'torch.' + known._name):
            return known
    raise TypeError(f'{one!r} is no dtype of adze')


class Tensor(_adze.Tensor):
    """A tensor: numbers of one dtype in a grid of up to 8 dimensions. adze.tensor makes one of numbers."""
    __slots__ = ()
    __array_ufunc__ = None  # so that numpy leaves operators with arrays to TypeError

    # ---- what it is

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return self.ndim

    def nelement(self):
        return self.numel()

    def element_size(self):
        return self.dtype.itemsize

    def is_floating_point(self):
        return self.dtype.is_floating_point

    @property
    def device(self):
        from . import device
        return device('cpu')

    @property
    def T(self):
        return self.permute(tuple(range(self.ndim))[::-1]) if self.ndim else self

    @property
    def mT(self):
        return self.transpose(-2, -1)

    def t(self):
        return self.transpose(0, 1) if self.ndim == 2 else self

    @property
    def data(self):
        """The same elements without a graph. Set it to copy other elements into the tensor."""
        return self.detach()

    @data.setter
    def data(self, value):
        if value.shape != self.shape:
            raise ValueError(f'data: the tensor has the shape {self.shape}, and the value {value.shape}')
        if value.dtype != self.dtype:
            raise TypeError(f'data: the tensor is {self.dtype}, and the value {value.dtype}; a module changes its dtype '
                            'by module.to')
        self.detach().copy_(value.detach())

    # ---- to Python and numpy

    def tolist(self):
        x = self.detach()
        if x.dtype in (float16, bfloat16):
            x = x.to(float32)
        return memoryview(x).tolist() if x.ndim > 0 else x.item()

    def numpy(self):
        """A numpy array over the same memory."""
        import numpy
        if self.requires_grad:
            raise RuntimeError('a tensor that wants a gradient has no numpy(): call x.detach().numpy()')
        return numpy.asarray(memoryview(self))

    def __array__(self, dtype=None, copy=None):
        made = self.numpy()
        if dtype is not None and made.dtype != dtype:
            if copy is False:
                raise ValueError('another dtype needs a copy')
            return made.astype(dtype)
        return made.copy() if copy else made

    def cpu(self):
        return self

    def __repr__(self):
        return self._text()

    def __format__(self, spec):
        return format(self.item(), spec) if self.ndim == 0 else format(repr(self), spec)

    def __reduce__(self):
        x = self.detach().contiguous()
        held = x.to(float32) if x.dtype == bfloat16 else x
        return _rebuilt, (type(self), bytes(memoryview(held).cast('B')) if x.numel() else b'', self.shape,
                          int(self.dtype), self.requires_grad)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError('only a leaf can be copied by copy.deepcopy')
        made = type(self)(self.detach().clone())
        if self.requires_grad:
            made.requires_grad_(True)
        memo[id(self)] = made
        return made

    # ---- gradients

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Adds the gradients of this tensor to .grad of every leaf that wants one."""
        if gradient is None and not retain_graph and not create_graph and inputs is None:
            return _adze.backward(self)
        from . import autograd
        return autograd.backward(self, gradient, retain_graph, create_graph, inputs)

    def register_hook(self, hook):
        """Calls hook(grad) when the gradient of this tensor is complete. What it returns replaces the gradient."""
        from ._hooks import on_tensor
        return on_tensor(self, hook, False)

    def register_post_accumulate_grad_hook(self, hook):
        """Calls hook(tensor) after a backward has added to .grad of this leaf."""
        from ._hooks import on_tensor
        return on_tensor(self, hook, True)

    # ---- conversions

    def to(self, *args, dtype=None, device='cpu', non_blocking=False, copy=False):
        """Another dtype, or that of another tensor. The device may only be the processor."""
        flags = [one for one in args if isinstance(one, builtins.bool)] # non_blocking and copy
        copy = copy or flags[1:2] == [True]
        for one in args:
            if isinstance(one, Tensor):
                dtype = one.dtype
            elif isinstance(one, str) and one.split(':')[0] == 'cpu':
                continue
            elif isinstance(one, str) and one.split(':')[0] in ('cuda', 'mps', 'xpu'):
                raise ValueError(f'adze computes on the processor and not on {one!r}')
            elif not isinstance(one, builtins.bool):
                dtype = one
        if device not in ('cpu', None):
            raise ValueError('adze computes on the processor')
        made = self if dtype is None else _adze.to(self, int(_dtype_of(dtype)))
        return made.clone() if copy and (dtype is None or self.dtype == _dtype_of(dtype)) else made

    def type_as(self, other):
        return self.to(other.dtype)

    def type(self, dtype):
        return self.to(dtype)

    def float(self):
        return self.to(float32)

    def double(self):
        return self.to(float64)

    def half(self):
        return self.to(float16)

    def bfloat16(self):
        return self.to(bfloat16)

    def int(self):
        return self.to(int32)

    def long(self):
        return self.to(int64)

    def bool(self):
        return self.to(bool_)

    def byte(self):
        return self.to(uint8)

    # ---- several forms in PyTorch, several functions in C

    def max(self, dim=None, keepdim=False):
        """The largest element; with dim, the largest ones along it and their positions."""
        if isinstance(dim, _adze.Tensor):
            return _adze.maximum(self, dim)
        return _adze.max(self) if dim is None else _Extreme(*_adze.max_dim(self, dim, keepdim))

    def min(self, dim=None, keepdim=False):
        """The smallest element; with dim, the smallest ones along it and their positions."""
        if isinstance(dim, _adze.Tensor):
            return _adze.minimum(self, dim)
        return _adze.min(self) if dim is None else _Extreme(*_adze.min_dim(self, dim, keepdim))

    def median(self, dim=None, keepdim=False):
        """The lower median; with dim, those along it and their positions."""
        return _adze.median(self.reshape(-1), 0)[0] if dim is None else _Extreme(*_adze.median(self, dim, keepdim))

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """The distinct elements, or slices along dim, in ascending order; on demand where each went and how many."""
        made = _adze.unique(self) if dim is None else _adze.unique_dim(self, dim)
        return _demanded(made, return_inverse, return_counts)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """The elements, or slices along dim, that differ from the one before; as unique."""
        made = _adze.unique_consecutive(self) if dim is None else _adze.unique_consecutive_dim(self, dim)
        return _demanded(made, return_inverse, return_counts)

    def squeeze(self, dim=None):
        if dim is None:
            return _adze.squeeze_all(self)
        if not isinstance(dim, (tuple, list)):
            return _adze.squeeze(self, dim)
        rank = self.ndim or 1
        if any(not -rank <= d < rank for d in dim):
            raise IndexError(f'squeeze: {dim} names a dimension that a tensor of {self.ndim} dimensions has not')
        for d in sorted((d % rank for d in dim), reverse=True):
            self = _adze.squeeze(self, d) if self.ndim else self
        return self

    def split(self, size, dim=0):
        return tuple(_adze.split(self, size, dim) if isinstance(size, builtins.int) else
                     _adze.split_sizes(self, size, dim))

    def chunk(self, chunks, dim=0):
        return tuple(_adze.chunk(self, chunks, dim))

    def unbind(self, dim=0):
        return tuple(_adze.unbind(self, dim))

    def var(self, dim=None, unbiased=None, keepdim=False, *, correction=1):
        return _spread(_adze.var, self, dim, unbiased, keepdim, correction)

    def std(self, dim=None, unbiased=None, keepdim=False, *, correction=1):
        return _spread(_adze.std, self, dim, unbiased, keepdim, correction)

    def clamp(self, min=None, max=None):
        return _adze.clamp(self, -_inf if min is None else min, _inf if max is None else max)

    def clamp_(self, min=None, max=None):
        return _adze.clamp_(self, -_inf if min is None else min, _inf if max is None else max)

    clip = clamp

    def add(self, other, *, alpha=1):
        return self + other if alpha == 1 else _adze.add_scaled(self, other, alpha)

    def sub(self, other, *, alpha=1):
        return self - other if alpha == 1 else _adze.sub_scaled(self, other, alpha)

    def add_(self, other, *, alpha=1):
        return _adze.add_(self, other) if alpha == 1 else _adze.add_scaled_(self, other, alpha)

    def sub_(self, other, *, alpha=1):
        return _adze.sub_(self, other) if alpha == 1 else _adze.sub_scaled_(self, other, alpha)

    def where(self, condition, other):
        """The elements of this tensor where the condition is true, else those of other, a tensor or a number."""
        from . import where
        return where(condition, self, other)

    def masked_fill(self, mask, value):
        return _adze.masked_fill(self, mask, value)

    def norm(self, p=2, dim=None, keepdim=False):
        return _adze.norm(self, 2 if p == 'fro' else p, dim, keepdim)

    def argmax(self, dim=None, keepdim=False):
        return _adze.argmax(self, dim, keepdim)

    def view_as(self, other):
        return self.view(other.shape)

    def reshape_as(self, other):
        return self.reshape(other.shape)

    def expand_as(self, other):
        return self.expand(other.shape)

    def uniform_(self, from_=0.0, to=1.0, *, generator=None):
        return _adze.init_uniform_(self, from_, to, generator)

    def normal_(self, mean=0.0, std=1.0, *, generator=None):
        return _adze.init_normal_(self, mean, std, generator)

    def new_zeros(self, *size, dtype=None):
        return _adze.zeros(*size, dtype=int(self.dtype if dtype is None else _dtype_of(dtype)))

    def new_ones(self, *size, dtype=None):
        return _adze.ones(*size, dtype=int(self.dtype if dtype is None else _dtype_of(dtype)))

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        raise AttributeError(f"'Tensor' object has no attribute {name!r}{_hints.of(name, dir(type(self)))}")

    # ---- elements

    def __getitem__(self, key):
        return _index.get(self, key)

    def __setitem__(self, key, value):
        _index.put(self, key, value)

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError('a tensor without dimensions has no elements to go through')
        return iter(self.unbind(0))

    def __contains__(self, value):
        return builtins.bool(_adze.any(self == value))


_inf = builtins.float('inf')
float_ = builtins.float


def _demanded(made, *wanted):
    """The first result, and those of the others that are wanted."""
    some = made[:1] + tuple(one for one, on in zip(made[1:], wanted) if on)
    return some if len(some) > 1 else some[0]


def _chosen(function):
    """A choice along a dimension: values and their positions under PyTorch's names."""
    def call(self, *args, **options):
        return _Extreme(*function(self, *args, **options))
    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


for _name in ('sort', 'topk', 'kthvalue', 'mode', 'cummax', 'cummin'):
    setattr(Tensor, _name, _chosen(getattr(_adze, _name)))


def _spread(function, x, dim, unbiased, keepdim, correction):
    """x.var(False) is PyTorch's form for all elements, and x.var(dim, unbiased, keepdim) that for dimensions."""
    if isinstance(dim, builtins.bool):
        if unbiased is not None:
            raise TypeError('unbiased is given twice')
        dim, unbiased = None, dim
    return function(x, dim, float_(correction if unbiased is None else unbiased), keepdim)


def _rebuilt(cls, held, shape, number, requires_grad):
    from . import empty, frombuffer
    stored = float32 if number == bfloat16 else dtype(number)
    x = frombuffer(bytearray(held), dtype=stored).reshape(shape).to(dtype(number)) if held else \
        empty(shape, dtype=dtype(number))
    made = cls(x)
    return made if made.requires_grad == requires_grad else made.requires_grad_(requires_grad)
