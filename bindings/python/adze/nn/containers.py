"""Modules of modules: Sequential, ModuleList, ModuleDict, ParameterList."""
import copy

from .. import _adze, _hooks
from .layers import Layer
from .module import Module
from .parameter import Parameter


class _Numbered(Module):
    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, i):
        if isinstance(i, slice):
            return type(self)(list(self)[i]) if isinstance(self, ModuleList) else \
                type(self)(dict(list(self._modules.items())[i])) # the names stay
        return list(self._modules.values())[i]

    def __setitem__(self, i, module):
        self.add_module(str(range(len(self))[i]), module)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for m in modules:
            self.append(m)
        return self


class Sequential(_Numbered):
    """Calls its modules one after the other. If all are layers of the library, one call computes them all."""

    def __init__(self, *modules):
        super().__init__()
        self.__dict__['_joined'] = (None, None)
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, m in modules[0].items():
                self.add_module(name, m)
        else:
            for m in modules:
                self.add_module(str(len(self)), m)
        self._fused() # now, because a captured step cannot make modules

    def append(self, module):
        super().append(module)
        self._fused()
        return self

    def __setitem__(self, i, module):
        super().__setitem__(i, module)
        self._fused()

    def _fused(self):
        """A Sequential of the library over the same layers; None if one of them is written in Python."""
        parts = []
        if '_hooks' in self.__dict__:
            return None
        for m in self._modules.values():
            if '_hooks' in m.__dict__:
                return None
            if isinstance(m, Layer) and type(m).forward is Layer.forward and type(m).__call__ is Layer.__call__:
                parts.append(m._handle)
            elif type(m) is Sequential:
                parts.append(m._fused())
            else:
                return None
        if None in parts:
            return None
        key, joined = self.__dict__.get('_joined', (None, None))
        if key != parts:
            joined = _adze.sequential_new(parts)
            _adze.module_train(joined, self.training)
            for m in self.modules(): # each keeps its own mode
                if isinstance(m, Layer):
                    _adze.module_train(m._handle, m.training)
            self.__dict__['_joined'] = (parts, joined)
        return joined

    def train(self, mode=True):
        super().train(mode)
        self.__dict__['_joined'] = (None, None) # whose modules may have been set one by one
        self._fused()
        return self

    def __call__(self, x):
        if '_hooks' in self.__dict__:
            return _hooks.called(self, (x,), {}, self.forward)
        if type(self) is Sequential:
            joined = self._fused()
            if joined is not None:
                return _adze.module_forward(joined, x)
        return self.forward(x)

    def forward(self, x):
        for m in self._modules.values():
            x = m(x)
        return x

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            made.__dict__[name] = (None, None) if name == '_joined' else copy.deepcopy(value, memo)
        made._fused()
        return made


class ModuleList(_Numbered):
    """A list of modules."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or [])


class ModuleDict(Module):
    """A dictionary of modules."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def update(self, modules):
        for name, m in dict(modules).items():
            self.add_module(name, m)

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __delitem__(self, name):
        del self._modules[name]

    def __contains__(self, name):
        return name in self._modules

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        for p in parameters or []:
            self.append(p)

    def append(self, p):
        self.register_parameter(str(len(self)), p if isinstance(p, Parameter) else Parameter(p))
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, i):
        return list(self._parameters.values())[i]


class ParameterDict(Module):
    """A dictionary of parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        for name, p in dict(parameters or {}).items():
            self[name] = p

    def __setitem__(self, name, p):
        self.register_parameter(name, p if isinstance(p, Parameter) else Parameter(p))

    def __getitem__(self, name):
        return self._parameters[name]

    def __delitem__(self, name):
        del self._parameters[name]

    def __contains__(self, name):
        return name in self._parameters

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()
