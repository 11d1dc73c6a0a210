"""Clipping of gradients and vectors of parameters, under the names of torch.nn.utils."""
import types

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


def _pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side='right'):
    """Sequences of different lengths as one tensor, filled up with a value."""
    if padding_side not in ('right', 'left'):
        raise ValueError(f"pad_sequence: padding_side is {padding_side!r}, but must be 'right' or 'left'")
    return _adze.pad_sequence(list(sequences), batch_first, padding_value, padding_side == 'left')


rnn = types.SimpleNamespace(pad_sequence=_pad_sequence)


def vector_to_parameters(vector, parameters):
    """Copies the elements of a vector into parameters, one after the other."""
    parameters = list(parameters)
    n = sum(p.numel() for p in parameters)
    if vector.numel() != n:
        raise ValueError(f'the vector has {vector.numel()} elements, and the parameters {n}')
    at = 0
    for p in parameters:
        p.detach().copy_(vector[at:at + p.numel()].detach().reshape(p.shape))
        at += p.numel()
