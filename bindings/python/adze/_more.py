"""Functions of PyTorch that are written with those of the library. What takes a tensor first is a method of it, too."""
import builtins
import collections
import math

from . import _adze
from ._dtype import bool as bool_, bfloat16, dtype as dtype_, float16, float32, float64, int32, int64, uint8
from ._tensor import Tensor

METHODS, FUNCTIONS = {}, {}


def _method(function):
    METHODS[function.__name__] = FUNCTIONS[function.__name__] = function
    return function


def _function(function):
    FUNCTIONS[function.__name__] = function
    return function


def _shaped(name, x, rank, what):
    if x.ndim != rank:
        raise _adze.ShapeError(f'{name}: {what} has {x.ndim} dimensions, but must have {rank}')


# ---- products


@_method
def mm(input, mat2):
    """The product of two matrices. Batches are for bmm and matmul."""
    _shaped('mm', input, 2, 'input')
    _shaped('mm', mat2, 2, 'mat2')
    return _adze.matmul(input, mat2)


@_method
def mv(input, vec):
    """The product of a matrix and a vector."""
    _shaped('mv', input, 2, 'input')
    _shaped('mv', vec, 1, 'vec')
    return _adze.matmul(input, vec)


@_method
def dot(input, tensor):
    """The product of two vectors: a scalar."""
    _shaped('dot', input, 1, 'input')
    _shaped('dot', tensor, 1, 'tensor')
    return _adze.matmul(input, tensor)


inner_ = dot


@_method
def ger(input, vec2):
    """The outer product, as outer."""
    return _adze.outer(input, vec2)


@_method
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta input + alpha batch1 @ batch2."""
    product = _adze.bmm(batch1, batch2)
    product = product if alpha == 1 else product * alpha
    return product + (input if beta == 1 else input * beta)


@_function
def tensordot(a, b, dims=2):
    """The sum over dimensions of a and of b: as many of the last and the first, or lists of both."""
    if isinstance(dims, builtins.int):
        if not 0 <= dims <= builtins.min(a.ndim, b.ndim):
            raise ValueError(f'tensordot: dims is {dims}, but must be 0 to {builtins.min(a.ndim, b.ndim)}')
        dims = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    first, second = dims
    if not first:
        return (a.reshape(a.shape + (1,) * b.ndim) * b)
    return _adze.tensordot(a, b, tuple(first), tuple(second))


# ---- shapes


@_function
def meshgrid(*tensors, indexing='ij'):
    """Coordinates of a grid over vectors. With indexing='xy' the first two dimensions are exchanged."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    return tuple(_adze.meshgrid(list(tensors), indexing))


@_method
def roll(input, shifts, dims=None):
    """Moves elements along dimensions, round the end. Without dims the tensor counts as flat."""
    several = isinstance(shifts, (tuple, list))
    if dims is None or dims == ():
        if several and len(shifts) != 1:
            raise ValueError('roll: several shifts need as many dims')
        return _adze.roll(input.reshape(-1), shifts[0] if several else shifts, 0).reshape(input.shape)
    shifts = tuple(shifts) if several else (shifts,)
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if len(shifts) != len(dims):
        raise ValueError(f'roll: there are {len(shifts)} shifts, but {len(dims)} dims')
    for shift, dim in zip(shifts, dims):
        input = _adze.roll(input, shift, dim)
    return input


@_method
def rot90(input, k=1, dims=(0, 1)):
    """Turns a plane by k times 90 degrees."""
    return _adze.rot90(input, k, dims)


@_method
def unflatten(input, dim, sizes):
    """Replaces one dimension by several, of which one size may be -1."""
    dim = range(input.ndim)[dim]
    return input.reshape(input.shape[:dim] + _whole(input.shape[dim], tuple(sizes)) + input.shape[dim + 1:])


def _whole(size, sizes):
    if sizes.count(-1) == 1:
        known = math.prod(s for s in sizes if s != -1)
        sizes = tuple(size // known if s == -1 and known else s for s in sizes)
    if math.prod(sizes) != size:
        raise ValueError(f'unflatten: {sizes} are not the sizes of {size} elements')
    return sizes


@_method
def ravel(input):
    """All elements in one dimension."""
    return input.reshape(-1)


@_method
def swapaxes(input, axis0, axis1):
    """transpose under the name of numpy."""
    return _adze.transpose(input, axis0, axis1)


@_method
def swapdims(input, dim0, dim1):
    """transpose under another name."""
    return _adze.transpose(input, dim0, dim1)


@_function
def broadcast_tensors(*tensors):
    """Views of the shape to which all tensors broadcast."""
    from ._index import broadcast
    shape = broadcast(*[t.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


def _at_least(rank, before):
    def call(*tensors):
        made = []
        for x in tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors:
            while x.ndim < rank:
                x = x.unsqueeze(0 if x.ndim < 2 or before else -1)
            made.append(x)
        return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else tuple(made)
    call.__name__ = f'atleast_{rank}d'
    call.__doc__ = f'Tensors with {rank} dimensions or more.'
    return call


for _rank in (1, 2, 3):
    FUNCTIONS[f'atleast_{_rank}d'] = _at_least(_rank, False)


@_function
def hstack(tensors):
    """Tensors side by side: along the second dimension, or the only one."""
    tensors = list(FUNCTIONS['atleast_1d'](tuple(tensors)))
    return _adze.cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@_function
def vstack(tensors):
    """Tensors one below the other."""
    return _adze.cat(list(FUNCTIONS['atleast_2d'](tuple(tensors))), 0)


FUNCTIONS['row_stack'] = vstack


@_function
def column_stack(tensors):
    """Vectors as columns, and matrices side by side."""
    return _adze.cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


@_function
def block_diag(*tensors):
    """Matrices along the diagonal of a matrix of zeros."""
    blocks = [t.reshape(1, -1) if t.ndim < 2 else t for t in tensors]
    width, left, rows = builtins.sum(t.shape[1] for t in blocks), 0, []
    for t in blocks:
        rows.append(_adze.pad(t, (left, width - left - t.shape[1]), 0.0))
        left += t.shape[1]
    return _adze.cat(rows, 0)


@_function
def cartesian_prod(*tensors):
    """All combinations of elements of vectors, a row for each."""
    if len(tensors) == 1:
        return tensors[0]
    return _adze.stack([g.reshape(-1) for g in meshgrid(*tensors)], 1)


def _choices(n, r, most):
    """The number of choices of r from n things, or some number above `most`: math.comb of large numbers takes minutes."""
    count, r = 1, min(r, n - r)
    if r < 0:
        return 0
    for i in range(r):
        count = count * (n - i) // (i + 1)
        if count > most:
            break
    return count


@_function
def combinations(input, r=2, with_replacement=False):
    """All choices of r elements of a vector, a row for each."""
    import itertools
    from . import tensor
    if input.ndim != 1:
        raise _adze.ShapeError(f'combinations: input has {input.ndim} dimensions, but must be a vector')
    if r == 0:
        return input.new_zeros(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    count = input.shape[0] + (max(r, 1) - 1 if with_replacement else 0)
    if r > 0 and _choices(count, r, 2**26 // r) > 2**26 // r:
        raise _adze.MemoryError('combinations: the result would have more than 2^26 elements')
    rows = list(choose(range(input.shape[0]), r))
    if not rows:
        return input.new_zeros(0, r)
    return _adze.index_select(input, 0, tensor([i for row in rows for i in row])).reshape(len(rows), r)


def _triangle(lower):
    def call(row, col, offset=0, *, dtype=int64, device=None):
        whole = _adze.ones((row, col), builtins.int(uint8))
        part = _adze.tril(whole, offset) if lower else _adze.triu(whole, offset)
        return _adze.nonzero(part).t().contiguous().to(dtype)
    call.__name__ = 'tril_indices' if lower else 'triu_indices'
    call.__doc__ = f'The positions of the {"lower" if lower else "upper"} triangle of a matrix: rows, then columns.'
    return call


FUNCTIONS['tril_indices'], FUNCTIONS['triu_indices'] = _triangle(True), _triangle(False)


@_function
def vander(x, N=None, increasing=False):
    """The powers of the elements of a vector, a row for each element."""
    n = x.shape[0] if N is None else N
    if n * max(x.shape[0], 1) > 2**26:
        raise _adze.MemoryError('vander: the result would have more than 2^26 elements')
    powers = range(n) if increasing else range(n - 1, -1, -1)
    return _adze.stack([x ** p for p in powers], 1) if n else x.new_zeros(x.shape[0], 0)


# ---- elements


@_method
def round(input, *, decimals=0):
    """To the nearest whole number, half to even; with decimals, so many digits behind the point."""
    if decimals == 0:
        return _adze.round(input)
    ten = 10.0 ** abs(decimals)
    return _adze.round(input * ten) / ten if decimals > 0 else _adze.round(input / ten) * ten


@_method
def div(input, other, *, rounding_mode=None):
    """input / other; with rounding_mode 'floor' or 'trunc' a whole number."""
    if rounding_mode is None:
        return _adze.div(input, other)
    if rounding_mode == 'floor':
        return input // other
    if rounding_mode != 'trunc':
        raise ValueError(f"div: rounding_mode is {rounding_mode!r}, but must be None, 'floor' or 'trunc'")
    whole = not input.is_floating_point() and not (isinstance(other, builtins.float) or
                                                   isinstance(other, Tensor) and other.is_floating_point())
    if not whole:
        return _adze.trunc(_adze.div(input, other))
    down = input // other # towards minus infinity: one too low where a remainder has another sign
    return down + ((input - down * other != 0) & (down < 0)).to(down.dtype)


@_method
def true_divide(input, other):
    """input / other."""
    return _adze.div(input, other)


@_method
def clamp_min(input, min):
    """Elements of at least min."""
    return input.clamp(min=min) if not isinstance(min, Tensor) else _adze.maximum(input, min)


@_method
def clamp_max(input, max):
    """Elements of at most max."""
    return input.clamp(max=max) if not isinstance(max, Tensor) else _adze.minimum(input, max)


@_method
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """Finite numbers instead of NaN and infinities: the largest ones of the dtype unless others are given."""
    if not input.is_floating_point():
        return input.clone()
    most = finfo(input.dtype).max
    return _adze.nan_to_num(input, 0.0 if nan is None else nan, most if posinf is None else posinf,
                            -most if neginf is None else neginf)


@_function
def rsub(input, other, *, alpha=1):
    """other - alpha input."""
    return other - (input if alpha == 1 else input * alpha)


@_method
def sgn(input):
    """The sign: adze has no complex numbers."""
    return _adze.sign(input)


@_method
def float_power(input, exponent):
    """The power in float64."""
    return _adze.pow(input.to(float64), exponent.to(float64) if isinstance(exponent, Tensor) else exponent)


# ---- reductions and order


_Pair = collections.namedtuple('aminmax', ['min', 'max'])


@_method
def aminmax(input, *, dim=None, keepdim=False):
    """The least and the largest elements."""
    return _Pair(_adze.amin(input, dim, keepdim), _adze.amax(input, dim, keepdim))


@_function
def var_mean(input, dim=None, *, correction=1, keepdim=False):
    """The variance and the mean."""
    return input.var(dim, correction=correction, keepdim=keepdim), _adze.mean(input, dim, keepdim)


@_function
def std_mean(input, dim=None, *, correction=1, keepdim=False):
    """The standard deviation and the mean."""
    return input.std(dim, correction=correction, keepdim=keepdim), _adze.mean(input, dim, keepdim)


@_method
def quantile(input, q, dim=None, keepdim=False, *, interpolation='linear'):
    """The quantile of all elements, or along a dimension. q is a number."""
    if dim is not None:
        return _adze.quantile(input, q, dim, keepdim, interpolation)
    made = _adze.quantile(input.reshape(-1), q, 0, False, interpolation)
    return made.reshape((1,) * input.ndim) if keepdim else made


@_method
def nonzero(input, *, as_tuple=False):
    """The positions of elements that are not 0: a row for each, or with as_tuple a tensor for each dimension."""
    made = _adze.nonzero(input)
    return made.unbind(1) if as_tuple else made


@_function
def bucketize(input, boundaries, *, right=False):
    """Between which boundaries elements lie."""
    return _adze.searchsorted(boundaries, input, right)


@_function
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integrals up to each point by the trapezoidal rule."""
    n = y.shape[dim]
    mean = (_adze.narrow(y, dim, 1, n - 1) + _adze.narrow(y, dim, 0, n - 1)) / 2
    if x is None:
        return _adze.cumsum(mean * dx, dim)
    shape = [1] * y.ndim
    shape[dim] = n - 1
    width = _adze.diff(x, 1, -1 if x.ndim == 1 else dim)
    return _adze.cumsum(mean * (width.reshape(shape) if x.ndim == 1 else width), dim)


# ---- in place: the result goes into the tensor, which other objects may share


def _in_place(name, function):
    def call(self, *args, **options):
        made = function(self, *args, **options)
        if made.dtype != self.dtype:
            raise TypeError(f'{name}: the result is {made.dtype}, which a tensor of {self.dtype} cannot take')
        return self.copy_(made)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'{name[:-1]} in place.'
    METHODS[name] = call


for _name in ('abs', 'ceil', 'cos', 'exp', 'expm1', 'floor', 'fmod', 'frac', 'index_add', 'index_copy', 'index_fill', 'lerp',
              'log', 'log1p', 'log2', 'log10', 'pow', 'reciprocal', 'remainder', 'rsqrt', 'sigmoid', 'sign', 'sin', 'sqrt',
              'square', 'tanh', 'tril', 'triu', 'trunc', 'erf', 'clamp_min', 'clamp_max', 'round', 'nan_to_num', 'logical_not',
              'masked_scatter', 'cumsum', 'cumprod', 'floor_divide', 'bitwise_and', 'bitwise_or', 'bitwise_xor'):
    _kind = METHODS.get(_name) or getattr(Tensor, _name, None)
    if _kind is not None and not hasattr(Tensor, _name + '_'):
        _in_place(_name + '_', _kind)


def _scatter(name):
    def call(self, dim, index, src, *, reduce=None):
        if reduce is not None:
            raise NotImplementedError(f'{name}: use scatter_reduce or scatter_add instead of reduce={reduce!r}')
        if not isinstance(src, Tensor):
            src = _adze.full(index.shape, src, builtins.int(self.dtype))
        made = _adze.scatter(self, dim, index, src)
        return self.copy_(made) if name.endswith('_') else made
    call.__name__ = call.__qualname__ = name
    call.__doc__ = 'Writes src, a tensor or a number, to the positions in index along a dimension.'
    METHODS[name] = call


_scatter('scatter')
_scatter('scatter_')
FUNCTIONS['scatter'] = METHODS['scatter']


# ---- new tensors of the same dtype


def _new(name, make):
    def call(self, *args, dtype=None, requires_grad=False, device=None):
        made = make(*args, dtype=self.dtype if dtype is None else dtype)
        return made.requires_grad_(True) if requires_grad else made
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'adze.{name[4:]} with the dtype of this tensor.'
    METHODS[name] = call


def add_new(factories):
    for name in ('tensor', 'full', 'empty'):
        _new('new_' + name, getattr(factories, name))
        setattr(Tensor, 'new_' + name, METHODS['new_' + name])


@_method
def stride(input, dim=None):
    """How many elements lie between neighbours of a dimension, or of each."""
    return tuple(_adze.tensor_stride(input, d) for d in range(input.ndim)) if dim is None else \
        _adze.tensor_stride(input, dim)


def unfold(self, dimension, size, step):
    """Windows of a dimension, which become the last one: a copy, where PyTorch has a view."""
    from . import arange
    dim = range(self.ndim or 1)[dimension]
    count = (self.shape[dim] - size) // step + 1 if size <= self.shape[dim] else 0
    if size < 0 or step < 1 or count < 1:
        raise ValueError(f'unfold: size {size} and step {step} do not fit the {self.shape[dim]} elements')
    at = (arange(count).unsqueeze(1) * step + arange(size)).reshape(-1)
    made = _adze.index_select(self, dim, at).reshape(self.shape[:dim] + (count, size) + self.shape[dim + 1:])
    return _adze.movedim(made, (dim + 1,), (-1,))


METHODS['unfold'] = unfold


# ---- other names, and what describes dtypes


for _name, _other in {'negative': 'neg', 'absolute': 'abs', 'multiply': 'mul', 'subtract': 'sub', 'arccos': 'acos',
                      'arcsin': 'asin', 'arctan': 'atan', 'arctan2': 'atan2', 'greater': 'gt', 'less': 'lt',
                      'not_equal': 'ne', 'greater_equal': 'ge', 'less_equal': 'le', 'inverse': 'inv',
                      'moveaxis': 'movedim', 'arcsinh': 'asinh', 'arccosh': 'acosh', 'arctanh': 'atanh', 'fix': 'trunc'}.items():
    _kind = getattr(Tensor, _other, None)
    if _kind is not None:
        METHODS[_name] = FUNCTIONS[_name] = _kind
METHODS['divide'] = FUNCTIONS['divide'] = div


@_method
def pinverse(input, rcond=None):
    """The pseudo-inverse, as linalg.pinv."""
    from . import linalg
    return linalg.pinv(input, rtol=rcond)


@_method
def logdet(input):
    """The logarithm of the determinant; NaN where that is negative."""
    sign, logarithm = _adze.slogdet(input)
    return _adze.where(sign >= 0, logarithm, _adze.full_like(logarithm, math.nan))


@_function
def result_type(a, b):
    """The dtype of a + b."""
    return (a + b).dtype if all(isinstance(x, Tensor) and x.numel() for x in (a, b)) else \
        (_like_empty(a) + _like_empty(b)).dtype


def _like_empty(x):
    return _adze.ones((1,) * x.ndim, builtins.int(x.dtype)) if isinstance(x, Tensor) else x


@_function
def is_floating_point(input):
    """Whether the elements are floats."""
    return input.is_floating_point()


class finfo:
    """The numbers that a dtype of floats has."""
    _known = {float32: (2.0 ** -23, (2 - 2.0 ** -23) * 2.0 ** 127, 2.0 ** -126, 32),
              float64: (2.0 ** -52, 1.7976931348623157e308, 2.0 ** -1022, 64),
              float16: (2.0 ** -10, 65504.0, 2.0 ** -14, 16),
              bfloat16: (2.0 ** -7, (2 - 2.0 ** -7) * 2.0 ** 127, 2.0 ** -126, 16)}

    def __init__(self, dtype=float32):
        if dtype not in self._known:
            raise TypeError(f'finfo takes a dtype of floats, not {dtype}')
        self.dtype = dtype
        self.eps, self.max, self.tiny, self.bits = self._known[dtype]
        self.min, self.smallest_normal, self.resolution = -self.max, self.tiny, 10.0 ** math.floor(math.log10(self.eps) + 1)


class iinfo:
    """The numbers that a dtype of whole numbers has."""
    _known = {int32: (-2 ** 31, 2 ** 31 - 1, 32), int64: (-2 ** 63, 2 ** 63 - 1, 64), uint8: (0, 255, 8)}

    def __init__(self, dtype):
        if dtype not in self._known:
            raise TypeError(f'iinfo takes a dtype of whole numbers, not {dtype}')
        self.dtype = dtype
        self.min, self.max, self.bits = self._known[dtype]


class Size(tuple):
    """A shape, which is a tuple of adze."""
    __slots__ = ()

    def numel(self):
        return math.prod(self)


for _kind in (finfo, iinfo, Size):
    FUNCTIONS[_kind.__name__] = _kind
del bool_, dtype_, inner_
for _name, _kind in METHODS.items():
    setattr(Tensor, _name, _kind)
