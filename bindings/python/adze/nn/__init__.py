"""Modules, layers, losses and what belongs to them, under the names of torch.nn."""
from . import functional, init, utils  # noqa: F401
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential  # noqa: F401
from .layers import Layer, known as _known, layer_of  # noqa: F401
from .module import Module  # noqa: F401
from .parameter import Parameter  # noqa: F401

globals().update(_known)
