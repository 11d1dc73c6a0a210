"""Special functions under the names of torch.special."""
from . import _adze

for _name in ('digamma', 'erf', 'erfc', 'erfinv', 'exp2', 'expm1', 'gammaln', 'i0', 'i0e', 'i1', 'i1e', 'log1p', 'log_softmax',
              'logit', 'logsumexp', 'multigammaln', 'ndtr', 'ndtri', 'polygamma', 'sinc', 'softmax', 'xlogy', 'xlog1py', 'zeta',
              'entr', 'erfcx', 'log_ndtr', 'gammainc', 'gammaincc'):
    if hasattr(_adze, _name):
        globals()[_name] = getattr(_adze, _name)
expit, psi, round = _adze.sigmoid, _adze.digamma, _adze.round
gammaln = _adze.lgamma


def __getattr__(name):
    from . import _hints
    raise AttributeError(f"module 'adze.special' has no attribute {name!r}{_hints.of(name, globals())}")
