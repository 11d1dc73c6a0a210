"""Initial values of parameters, under the names of torch.nn.init."""
from .. import _adze, autograd

for _name in dir(_adze):
    if _name.startswith('init_'):
        globals()[_name[5:]] = getattr(_adze, _name)
calculate_gain = _adze.calculate_gain


def copy_(t, value):
    """Copies elements into a parameter."""
    with autograd.no_grad():
        return t.copy_(value)
