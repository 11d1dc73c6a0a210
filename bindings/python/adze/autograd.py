"""Gradients: backward, grad, and the modes in which operators record nothing."""
import contextlib
import types

from . import _adze, func
from ._function import Function, gradcheck, gradgradcheck  # noqa: F401


def _several(one):
    return [one] if isinstance(one, _adze.Tensor) else list(one)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of tensors to .grad of every leaf that wants one, or of `inputs` alone."""
    if create_graph:
        raise NotImplementedError('backward keeps no graph of gradients: call adze.autograd.grad with create_graph')
    _adze.autograd_backward(_several(tensors), None if grad_tensors is None else _several(grad_tensors),
                            bool(retain_graph), None if inputs is None else _several(inputs))


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """The gradients of outputs with respect to inputs: a tuple. No .grad changes."""
    return tuple(_adze.autograd_grad(_several(outputs), _several(inputs),
                                     None if grad_outputs is None else _several(grad_outputs),
                                     create_graph if retain_graph is None else bool(retain_graph), create_graph,
                                     allow_unused))


class set_grad_enabled(contextlib.ContextDecorator):
    """Turns recording on or off: at once, and until the end of a with-block if it is used as one."""

    def __init__(self, mode):
        self._mode = bool(mode)
        self._before = [_adze.set_grad_enabled(self._mode)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _adze.set_grad_enabled(self._before[-1])

    def _recreate_cm(self):
        return type(self)(self._mode)

    def __call__(self, function):
        _adze.set_grad_enabled(self._before[-1]) # a decorator changes the mode in its function alone
        return super().__call__(function)


class no_grad(contextlib.ContextDecorator):
    """with adze.no_grad(): operators record nothing. It is a decorator, too."""
    _mode = False

    def __init__(self):
        self._before = []

    def __enter__(self):
        self._before.append(_adze.set_grad_enabled(self._mode))
        return self

    def __exit__(self, *_):
        _adze.set_grad_enabled(self._before.pop())


class enable_grad(no_grad):
    """with adze.enable_grad(): operators record within a block that does not."""
    _mode = True


class inference_mode(no_grad):
    """The same as no_grad: adze has no faster mode."""

    def __init__(self, mode=True):
        super().__init__()
        self._mode = not mode


class detect_anomaly(contextlib.ContextDecorator):
    """with adze.autograd.detect_anomaly(): a NaN or an infinity is an error of the operator that computes it."""

    def __enter__(self):
        self._before = _adze.set_anomaly_enabled(True)
        return self

    def __exit__(self, *_):
        _adze.set_anomaly_enabled(self._before)


def is_grad_enabled():
    """Whether operators record what gradients need."""
    return _adze.is_grad_enabled()


functional = types.SimpleNamespace(jacobian=func.jacobian, hessian=func.hessian, vjp=func.vjp, jvp=func.jvp, hvp=func.hvp)
