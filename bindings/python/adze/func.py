"""Derivatives of functions of tensors: vjp, jvp, jacobian, hessian, hvp, as the library computes them.

A function takes one tensor or several (`inputs` is then a tuple) and returns one tensor or a tuple of `results`.
"""
from . import _adze


def _call(which, function, inputs, vectors, results, create_graph):
    given = [inputs] if isinstance(inputs, _adze.Tensor) else list(inputs)
    if vectors is not None:
        vectors = [vectors] if isinstance(vectors, _adze.Tensor) else list(vectors)
    return _adze.derivative(which, function, given, vectors, results, create_graph)


def _one(inputs, made):
    return made[0] if isinstance(inputs, _adze.Tensor) else tuple(made)


def vjp(function, inputs, v=None, *, results=1, create_graph=False):
    """(results, gradients): the product of vectors with the Jacobian. Without v the result has one element."""
    made, values = _call('vjp', function, inputs, v, results, create_graph)
    return (values[0] if results == 1 else tuple(values)), _one(inputs, made)


def jvp(function, inputs, v, *, results=1, create_graph=False):
    """(results, derivatives): the product of the Jacobian with vectors."""
    made, values = _call('jvp', function, inputs, v, results, create_graph)
    return (values[0], made[0]) if results == 1 else (tuple(values), tuple(made))


def _table(which, function, inputs, results, create_graph):
    made, _ = _call(which, function, inputs, None, results, create_graph)
    if isinstance(inputs, _adze.Tensor):
        return made[0] if results == 1 else tuple(made)
    n = len(inputs)
    rows = [tuple(made[k * n:(k + 1) * n]) for k in range(results)]
    return rows[0] if results == 1 else tuple(rows)


def jacobian(function, inputs, *, results=1, create_graph=False):
    """The Jacobian: the shape of the result, then that of the input; for each result and each input."""
    return _table('jacobian', function, inputs, results, create_graph)


def jacobian_rows(function, inputs, *, results=1, create_graph=False):
    """The Jacobian of each row of x[N, D], where row n of the result depends on row n of x alone: [N, M, D]."""
    return _table('jacobian_rows', function, inputs, results, create_graph)


def hessian(function, inputs, *, create_graph=False):
    """The second derivatives of a function with one element."""
    made, _ = _call('hessian', function, inputs, None, 1, create_graph)
    if isinstance(inputs, _adze.Tensor):
        return made[0]
    n = len(inputs)
    return tuple(tuple(made[i * n:(i + 1) * n]) for i in range(n))


def hvp(function, inputs, v, *, create_graph=False):
    """(result, products): the product of the Hessian with vectors."""
    made, values = _call('hvp', function, inputs, v, 1, create_graph)
    return values[0], _one(inputs, made)


def grad(function, argnums=0, has_aux=False):
    """A function that gives the gradient of one with a single element, with respect to one of its arguments or several."""
    if has_aux:
        raise NotImplementedError('grad: adze has no has_aux')

    def call(*args):
        many = isinstance(argnums, (tuple, list))
        at = [range(len(args))[i] for i in (argnums if many else (argnums,))]

        def of_some(*some):
            given = list(args)
            for i, x in zip(at, some):
                given[i] = x
            return function(*given)
        _, made = vjp(of_some, tuple(args[i] for i in at))
        return tuple(made) if many else made[0]
    return call


def __getattr__(name):
    from . import _hints
    raise AttributeError(f"module 'adze.func' has no attribute {name!r}{_hints.of(name, globals())}")
