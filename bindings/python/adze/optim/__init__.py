"""Optimizers under the names of torch.optim, and the schedules of their rates."""
from .. import _adze
from . import lr_scheduler  # noqa: F401
from .optimizer import Optimizer, known as _known  # noqa: F401

globals().update(_known)
