"""x[...] and x[...] = y, as PyTorch has them."""
import builtins

from . import _adze


def plain(one):
    """One index as a number, a slice, a tensor, None or an ellipsis."""
    if isinstance(one, (list, tuple, range)) or getattr(one, 'shape', None) and not isinstance(one, _adze.Tensor):
        from . import tensor
        made = tensor(one)
        one = made if made.numel() or made.dtype == 5 else _adze.to(made, 3)
    if type(one).__name__ in ('bool', 'bool_'):
        raise IndexError('True and False are no indices of adze: x[None] adds a dimension, and a mask is a tensor')
    if isinstance(one, _adze.Tensor) and one.dtype == 4:
        raise IndexError('a tensor of uint8 is an index for some and a mask for others: use .long() or .bool()')
    return one


def expanded(x, key):
    """The key as a list with one entry for each dimension, and None for each new one. A mask takes its dimensions."""
    key = [plain(one) for one in key] if isinstance(key, tuple) else [plain(key)]
    taken = 0
    for one in key:
        if isinstance(one, _adze.Tensor) and one.dtype == 5:
            taken += one.ndim
        elif one is not None and one is not Ellipsis:
            taken += 1
    if taken > x.ndim:
        raise IndexError(f'{taken} indices for a tensor of {x.ndim} dimensions')
    rest = [slice(None)] * (x.ndim - taken)
    dots = [i for i, one in enumerate(key) if one is Ellipsis]
    if len(dots) > 1:
        raise IndexError('an index can only have one ellipsis')
    return key[:dots[0]] + rest + key[dots[0] + 1:] if dots else key + rest


def split(x, key):
    """A view of x for the numbers, slices and new dimensions of a key, and what is left: (view, {dim: tensor})."""
    dim, left = 0, {}
    for one in expanded(x, key):
        if one is None:
            x = _adze.unsqueeze(x, dim)
            dim += 1
        elif isinstance(one, slice):
            start, stop, step = one.indices(x.shape[dim])
            if step < 0:
                raise ValueError('a slice of a tensor goes forward: use adze.flip')
            if (start, stop, step) != (0, x.shape[dim], 1):
                x = _adze.slice(x, dim, start, builtins.max(start, stop), step)
            dim += 1
        elif isinstance(one, _adze.Tensor) and one.dtype == 5:
            if one.ndim == 0:
                raise IndexError('a mask has one dimension or more')
            if one.shape != x.shape[dim:dim + one.ndim]:
                raise IndexError(f'the mask has the shape {one.shape}, and the dimensions that it takes have '
                                 f'{x.shape[dim:dim + one.ndim]}')
            for position in _adze.nonzero(one).unbind(1):
                left[dim] = position
                dim += 1
        elif isinstance(one, _adze.Tensor) and one.ndim > 0:
            left[dim] = one
            dim += 1
        else:
            x = _adze.select(x, dim, one)
    return x, left


def broadcast(*shapes):
    """The shape that all shapes broadcast to."""
    rank = builtins.max(len(s) for s in shapes)
    wide = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    made = tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*wide))
    if any(n not in (1, m) for s in wide for n, m in zip(s, made)):
        raise IndexError(f'the indices have the shapes {shapes}, which do not broadcast')
    return made


def flat_index(x, left):
    """The positions of several indices in the dimensions that they span, joined to one; and their shape."""
    dims = sorted(left)
    if dims != list(range(dims[0], dims[0] + len(dims))):
        raise NotImplementedError('indices that are tensors must follow each other')
    shape = broadcast(*[left[d].shape for d in dims])
    flat = None
    for d in dims:
        if left[d].is_floating_point():
            raise IndexError(f'an index is a tensor of whole numbers or a mask, not of {left[d].dtype}')
        size, index = x.shape[d], _adze.to(left[d], 3)
        index = _adze.where(index < 0, index + size, index)
        if len(dims) > 1:
            _check(index, size, d)
            index = index.expand(shape)
        flat = index if flat is None else flat * size + index
    return dims, shape, flat.reshape(-1)


def _check(index, size, dim):
    if index.numel() > 0 and (_adze.amin(index).item() < 0 or _adze.amax(index).item() >= size):
        raise IndexError(f'an index of dimension {dim} is outside its size, {size}')


def get(x, key):
    if isinstance(key, int) and not isinstance(key, bool):
        return _adze.select(x, 0, key)
    x, left = split(x, key)
    if not left:
        return x
    dims, shape, flat = flat_index(x, left)
    first, sizes = dims[0], x.shape
    if len(dims) > 1:
        x = x.reshape(sizes[:first] + (-1,) + sizes[first + len(dims):])
    y = _adze.index_select(x, first, flat)
    return y if len(shape) == 1 else y.reshape(sizes[:first] + tuple(shape) + sizes[first + len(dims):])


def put(x, key, value):
    from . import tensor
    view, left = split(x, key)
    if not left:
        if isinstance(value, _adze.Tensor):
            view.copy_(value)
        else:
            view.fill_(value)
        return
    if sorted(left) != list(range(len(left))):
        raise NotImplementedError('x[...] = y takes tensors as indices of the first dimensions only')
    if not isinstance(value, _adze.Tensor):
        value = tensor(value, dtype=x.dtype)
    _adze.index_put_(view, [left[d] for d in sorted(left)], value, False)
