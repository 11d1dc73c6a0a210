"""New tensors: of numbers, of arrays, of random numbers."""
import array
import builtins

from . import _adze
from ._dtype import dtype as _dtype, float32, int64
from ._tensor import Tensor, _dtype_of


def _made(x, dtype, requires_grad):
    if dtype is not None and x.dtype != _dtype_of(dtype):
        x = x.to(dtype)
    return x.requires_grad_(True) if requires_grad else x


def _flat(data, depth, shape, into):
    """Appends the numbers of nested lists, whose shape must be regular."""
    if getattr(data, 'shape', None) and hasattr(data, 'tolist'):
        data = data.tolist() # an array among the elements
    if isinstance(data, (list, tuple)):
        if len(shape) == depth:
            if into:
                raise ValueError('some elements are lists, and others are not')
            shape.append(len(data))
        if shape[depth] != len(data):
            raise ValueError(f'the lists of dimension {depth} have {shape[depth]} and {len(data)} elements')
        for one in data:
            _flat(one, depth + 1, shape, into)
        return
    if depth != len(shape):
        raise ValueError('some elements are lists, and others are not')
    into.append(data.item() if hasattr(data, 'item') else data)


def _refuse_overflow(numbers, dtype):
    least, most = {4: (-255, 255), 2: (-2**31, 2**31 - 1)}[dtype]
    wrong = next((n for n in numbers if not least <= n <= most), None)
    if wrong is not None:
        raise OverflowError(f'{wrong} does not fit into {dtype}')


def tensor(data, dtype=None, requires_grad=False, device=None):
    """A tensor with a copy of numbers, of (nested) lists of them, or of an array."""
    if isinstance(data, Tensor):
        return _made(data.detach().clone(), dtype, requires_grad)
    if isinstance(data, range):
        data = list(data)
    if not isinstance(data, (list, tuple)) and not _adze_number(data):
        return _made(_adze.tensor_of(data), dtype, requires_grad)
    shape, numbers = [], []
    _flat(data, 0, shape, numbers)
    if len(shape) > 8:
        raise ValueError('a tensor has at most 8 dimensions')
    if all(isinstance(n, bool) for n in numbers) and numbers:
        flat, natural = array.array('B', numbers), _dtype(5)
    elif all(isinstance(n, int) for n in numbers) and numbers:
        flat, natural = array.array('q', numbers), int64
        if dtype is not None and _dtype_of(dtype) in (2, 4):
            _refuse_overflow(numbers, _dtype_of(dtype))
    else:
        flat, natural = array.array('d', numbers), float32
    x = _adze.tensor_of(flat).to(natural if dtype is None else dtype)
    return _made(x.reshape(shape), dtype, requires_grad)


def _adze_number(data):
    return isinstance(data, (bool, int, float)) or not hasattr(data, 'shape') and hasattr(data, '__float__')


def from_numpy(a):
    """A tensor over the memory of a numpy array, which both may write."""
    return _adze.from_buffer(a)


def as_tensor(data, dtype=None, device=None):
    """data itself if it is a tensor; a tensor over an array that can be shared; else a copy."""
    if isinstance(data, Tensor):
        return _made(data, dtype, False)
    if hasattr(data, '__array_interface__') or isinstance(data, memoryview):
        return _made(_adze.tensor_of(data) if memoryview(data).readonly else _adze.from_buffer(data), dtype, False)
    return tensor(data, dtype)


def from_dlpack(x):
    """A tensor over the memory of another library's tensor, by DLPack. Both may write it."""
    if type(x).__name__ == 'PyCapsule':
        return _adze.from_capsule(x)
    device = x.__dlpack_device__()
    if tuple(int(d) for d in device) != (1, 0):
        raise BufferError(f'the tensor is on device {tuple(device)}; copy it to the processor first')
    flags = getattr(x, 'flags', None)
    if flags is not None and getattr(flags, 'writeable', True) is False:
        raise BufferError('the array is read-only, and a tensor over it could be written; copy it with adze.tensor(a)')
    return _adze.from_capsule(x.__dlpack__())


def frombuffer(buffer, *, dtype):
    """A vector over the bytes of an object that can be written, such as a bytearray."""
    letter = 'fdiqB?e'[_dtype_of(dtype)] if _dtype_of(dtype) < 7 else None
    if letter is None:
        raise TypeError('frombuffer: no buffer has bfloat16')
    return _adze.from_buffer(memoryview(buffer).cast('B').cast(letter))


def _shape(sizes):
    return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], builtins.int) else sizes


def _factory(function):
    def make(*sizes, size=None, dtype=None, requires_grad=False, device=None, generator=None):
        if sizes and size is not None:
            raise TypeError(f'{function.__name__}: size is given twice')
        shape = _shape(sizes) if size is None else size
        number = float32 if dtype is None else _dtype_of(dtype)
        if generator is not None:
            x = getattr(_adze, 'generator_' + function.__name__)(generator, shape, int(number))
        else:
            x = function(shape, int(number))
        return x.requires_grad_(True) if requires_grad else x
    make.__name__ = make.__qualname__ = function.__name__
    make.__doc__ = function.__doc__
    return make


zeros, ones, empty, rand, randn = (_factory(f) for f in (_adze.zeros, _adze.ones, _adze.empty, _adze.rand, _adze.randn))


def full(size, fill_value, dtype=None, requires_grad=False, device=None):
    """A tensor filled with one value, whose dtype follows from it."""
    if dtype is None:
        dtype = _dtype(5) if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else float32
    return _made(_adze.full(size, fill_value, int(_dtype_of(dtype))), None, requires_grad)


def arange(start, end=None, step=1, dtype=None, requires_grad=False, device=None):
    """Numbers from start to end, which is not among them."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = int64 if all(isinstance(n, builtins.int) for n in (start, end, step)) else float32
    return _made(_adze.arange(start, end, step, int(_dtype_of(dtype))), None, requires_grad)


def linspace(start, end, steps, dtype=None, requires_grad=False, device=None):
    """steps numbers from start to end."""
    return _made(_adze.linspace(start, end, steps, int(_dtype_of(dtype or float32))), None, requires_grad)


def logspace(start, end, steps, base=10.0, dtype=None, requires_grad=False, device=None):
    """steps powers of base, from base**start to base**end."""
    return _made(_adze.logspace(start, end, steps, base, int(_dtype_of(dtype or float32))), None, requires_grad)


def eye(n, m=None, dtype=None, requires_grad=False, device=None):
    """The identity matrix."""
    return _made(_adze.eye(n, n if m is None else m, int(_dtype_of(dtype or float32))), None, requires_grad)


def randint(low, high=None, size=None, dtype=None, generator=None, device=None):
    """Whole numbers from low to high - 1."""
    if size is None and high is not None and not isinstance(high, builtins.int):
        high, size = None, high
    if high is None:
        low, high = 0, low
    number = int(int64 if dtype is None else _dtype_of(dtype))
    return _adze.randint(low, high, size, number) if generator is None else \
        _adze.generator_randint(generator, low, high, size, number)


def randperm(n, generator=None, device=None):
    """The numbers from 0 to n - 1 in random order."""
    return _adze.randperm(n) if generator is None else _adze.generator_randperm(generator, n)


def _like(function):
    def make(t, *args, dtype=None, requires_grad=False, device=None):
        return _made(function(t, *args), dtype, requires_grad)
    make.__name__ = make.__qualname__ = function.__name__
    make.__doc__ = function.__doc__
    return make


zeros_like, ones_like, empty_like, full_like, rand_like, randn_like = (
    _like(f) for f in (_adze.zeros_like, _adze.ones_like, _adze.empty_like, _adze.full_like, _adze.rand_like,
                       _adze.randn_like))
