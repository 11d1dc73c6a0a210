"""Functions with a backward of their own, under the name of torch.autograd.Function, and checks of gradients."""
from . import _adze


class _Context:
    """What a forward hands to its backward. Its attributes are the function's own."""

    def __init__(self):
        self._saved, self._values, self._materialize = (), None, True
        self._not_differentiable = ()
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps inputs, results or other tensors for the backward, which has them as ctx.saved_tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, _adze.Tensor):
                raise TypeError(f'save_for_backward takes tensors, not {type(t).__name__}: other values are attributes of '
                                'ctx')
        self._saved = tensors

    @property
    def saved_tensors(self):
        if self._values is None:
            raise RuntimeError('saved_tensors are there in the backward')
        return self._values

    def set_materialize_grads(self, value):
        """False: the gradient of a result that none reaches is None instead of zeros."""
        self._materialize = bool(value)

    def mark_non_differentiable(self, *results):
        """Results that want no gradient though they are floats."""
        self._not_differentiable = results

    def mark_dirty(self, *_):
        raise NotImplementedError('a Function of adze changes no input in place: return a new tensor')


def _same(a, b):
    return hash(a) == hash(b)


def _place(t, inputs, results, extras):
    """Where a saved tensor lies for the library: ('input', i), ('result', i) or ('extra', i)."""
    if t is None:
        return None
    for kind, some in (('input', inputs), ('result', results)):
        for i, one in enumerate(some):
            if _same(one, t):
                return kind, i
    extras.append(t)
    return 'extra', len(extras) - 1


class Function:
    """An operator with a forward and a backward in Python. Call it by apply.

        class Cube(adze.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x * x

            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return 3 * x * x * grad

        y = Cube.apply(x)

    The forward records nothing. The backward is differentiated again if it uses operators of adze.
    """

    @staticmethod
    def forward(*args, **named):
        raise NotImplementedError('a Function has a static method forward(ctx, ...)')

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError('this Function has no backward')

    @classmethod
    def apply(cls, *args):
        """Calls the forward, and records the backward if an input wants a gradient."""
        from .autograd import no_grad
        ctx = _Context()
        inputs = [a for a in args if isinstance(a, _adze.Tensor)]
        ctx.needs_input_grad = tuple(isinstance(a, _adze.Tensor) and a.requires_grad for a in args)
        record = any(ctx.needs_input_grad) and _adze.is_grad_enabled()
        with no_grad():
            if hasattr(cls, 'setup_context'):
                made = cls.forward(*args)
                cls.setup_context(ctx, args, made)
            else:
                made = cls.forward(ctx, *args)
        several = isinstance(made, (tuple, list))
        all_ = list(made) if several else [made]
        if any(not isinstance(y, _adze.Tensor) for y in all_):
            raise TypeError(f'{cls.__name__}.forward must return tensors')
        if record:
            all_ = cls._recorded(ctx, args, inputs, all_)
        return tuple(all_) if several else all_[0]

    @classmethod
    def _recorded(cls, ctx, args, inputs, made):
        from .autograd import no_grad
        given = list(made)
        with no_grad(): # a result that is an input, or a view of one, becomes a tensor of its own
            made = [y.clone() if y.requires_grad or any(_same(y, x) for x in inputs) else y for y in given]
        fixed = [any(_same(y, one) for one in ctx._not_differentiable) for y in given]
        results = [y for y, off in zip(made, fixed) if not off]
        if not results:
            return made
        saved = [next((n for n, y in zip(made, given) if _same(y, t)), t) if t is not None and
                 not any(_same(t, x) for x in inputs) else t for t in ctx._saved]
        extras = []
        places = tuple(_place(t, inputs, results, extras) for t in saved)
        ctx._saved = ()
        kinds = [(y.shape, y.dtype, off) for y, off in zip(made, fixed)]
        _adze.function_record(cls.__name__, _backward_of(cls, ctx, [isinstance(a, _adze.Tensor) for a in args], kinds),
                              inputs, results, places, extras)
        return made


def _backward_of(cls, ctx, is_tensor, kinds):
    """The function that the library calls: it gets saved tensors and gradients, and gives one for each input."""
    def call(saved, grads):
        from . import zeros
        rest, given = iter(grads), []
        for shape, dtype, off in kinds:
            g = None if off else next(rest)
            if g is None and ctx._materialize:
                g = zeros(shape, dtype=dtype)
            given.append(g)
        before, ctx._values = ctx._values, saved
        try:
            made = cls.backward(ctx, *given)
        finally:
            ctx._values = before
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        n = len(is_tensor)
        if len(made) < n or any(one is not None for one in made[n:]):
            raise RuntimeError(f'{cls.__name__}.backward returned {len(made)} gradients, but its forward has {n} arguments')
        if any(one is not None and not isinstance(one, _adze.Tensor) for one in made):
            raise TypeError(f'{cls.__name__}.backward must return tensors and None')
        return tuple(one for one, tensor in zip(made, is_tensor) if tensor)
    return call


def _checked(function, inputs, second, eps, atol, rtol, seed, raise_exception):
    given = [inputs] if isinstance(inputs, _adze.Tensor) else list(inputs)
    tensors = [x for x in given if isinstance(x, _adze.Tensor)]

    def call(*some):
        rest = iter(some)
        made = function(*[next(rest) if isinstance(x, _adze.Tensor) else x for x in given])
        return made if isinstance(made, _adze.Tensor) else tuple(y for y in made if isinstance(y, _adze.Tensor))
    try:
        _adze.gradcheck(call, tensors, second, eps, atol, rtol, seed)
    except _adze.NumericError:
        if raise_exception:
            raise
        return False
    return True


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True):
    """Compares the gradients of a function with differences, in float64. True, or adze.NumericError with the element.

    `inputs` is a tensor or a tuple; those of float64 that want a gradient are checked. See torch.autograd.gradcheck.
    """
    return _checked(func, inputs, False, eps, atol, rtol, 0, raise_exception)


def gradgradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, seed=0, raise_exception=True):
    """Compares second derivatives with differences of the gradients, for random gradients of the results, in float64.
    See torch.autograd.gradgradcheck."""
    return _checked(func, inputs, True, eps, atol, rtol, seed, raise_exception)
