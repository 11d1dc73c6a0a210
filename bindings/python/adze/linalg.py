"""Linear algebra under the names of torch.linalg."""
import collections
import functools

from . import _adze
from ._adze import (cholesky, cross, det, eigvalsh, inv, matrix_exp, matrix_norm as _matrix_norm,  # noqa: F401
                    matrix_power, qr, slogdet, solve, solve_triangular, svdvals, vecdot)

matmul = _adze.matmul
_Eigh = collections.namedtuple('eigh', ['eigenvalues', 'eigenvectors'])
_Svd = collections.namedtuple('svd', ['U', 'S', 'Vh'])
_Lstsq = collections.namedtuple('lstsq', ['solution'])


def _rtol(a, rtol):
    from ._more import finfo
    return max(a.shape[-2:]) * finfo(a.dtype).eps if rtol is None else rtol


def pinv(a, *, rtol=None):
    """The pseudo-inverse. Singular values up to rtol times the largest count as 0."""
    return _adze.pinv(a, _rtol(a, rtol))


def matrix_rank(a, *, rtol=None):
    """How many singular values are above rtol times the largest."""
    return _adze.matrix_rank(a, _rtol(a, rtol))


def vector_norm(x, ord=2, dim=None, keepdim=False):
    """The norm of a vector, or of all elements."""
    return _adze.vector_norm(x, float(ord), dim, keepdim)


def matrix_norm(x, ord='fro', dim=(-2, -1), keepdim=False):
    """The norm of matrices: 'fro', 'nuc', or another word that help(adze._adze.matrix_norm) names."""
    words = {1: 'one', -1: 'minus_one', 2: 'two', -2: 'minus_two', float('inf'): 'inf', float('-inf'): 'minus_inf'}
    return _matrix_norm(x, words.get(ord, ord), dim, keepdim)


def norm(x, ord=None, dim=None, keepdim=False):
    """Without ord the norm of all elements; else that of vectors, or of matrices where dim has two numbers."""
    several = isinstance(dim, (tuple, list))
    if ord is None:
        return vector_norm(x, 2, dim, keepdim)
    if isinstance(ord, str) or several and len(dim) == 2 or dim is None and x.ndim == 2:
        return matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)
    return vector_norm(x, ord, dim, keepdim)


def eigh(x, UPLO='L'):
    """Eigenvalues in ascending order and eigenvectors of symmetric matrices."""
    return _Eigh(*_adze.eigh(x, UPLO.upper() == 'U'))


def svd(x, full_matrices=True):
    """Singular values and vectors. adze has the reduced form: say full_matrices=False unless the matrix is square."""
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise NotImplementedError('svd: adze has the reduced form: say full_matrices=False')
    return _Svd(*_adze.svd(x))


def lstsq(a, b):
    """The solution of a least-squares problem, as .solution."""
    return _Lstsq(_adze.lstsq(a, b))


def multi_dot(tensors):
    """The product of several matrices, from the left."""
    return functools.reduce(_adze.matmul, tensors)


def diagonal(x, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of the last two dimensions."""
    return _adze.diagonal(x, offset, dim1, dim2)


def __getattr__(name):
    from . import _hints
    raise AttributeError(f"module 'adze.linalg' has no attribute {name!r}{_hints.of(name, globals())}")
