"""Clipping of gradients and vectors of parameters, under the names of torch.nn.utils."""
from .. import _adze


def _all(parameters):
    return [parameters] if isinstance(parameters, _adze.Tensor) else list(parameters)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    """Scales all gradients so that their norm is at most max_norm; gives the norm before, a number."""
    return _adze.clip_grad_norm(_all(parameters), max_norm, norm_type)


def clip_grads(parameters, max_norm, norm_type=2.0):
    """clip_grad_norm_ without its result, as a captured step needs it."""
    _adze.clip_grads(_all(parameters), max_norm, norm_type)


def clip_grad_value_(parameters, clip_value):
    """Cuts the elements of gradients."""
    _adze.clip_grad_value(_all(parameters), clip_value)


def parameters_to_vector(parameters):
    """All elements of parameters in one vector."""
    return _adze.cat([p.reshape(-1) for p in parameters], 0)
