"""Modules: parameters, buffers, other modules and a forward in Python, as torch.nn.Module has them."""
import collections

from .. import _adze, _hooks, autograd
from .._tensor import Tensor
from .parameter import Parameter

LoadResult = collections.namedtuple('LoadResult', ['missing_keys', 'unexpected_keys'])


class Module:
    """The base class of modules. A subclass makes its layers in __init__ and computes in forward."""

    def __init__(self):
        store = self.__dict__
        store['training'] = True
        store['_parameters'] = {}
        store['_buffers'] = {}
        store['_modules'] = {}
        store['_not_saved'] = set()

    def forward(self, *inputs, **named):
        raise NotImplementedError(f'{type(self).__name__} has no forward')

    def __call__(self, *inputs, **named):
        if '_hooks' in self.__dict__:
            return _hooks.called(self, inputs, named, self.forward)
        return self.forward(*inputs, **named)

    # ---- hooks

    def register_forward_pre_hook(self, hook):
        """Calls hook(module, inputs) before each call. What it returns replaces the inputs."""
        return _hooks.on_module(self, 'before', hook)

    def register_forward_hook(self, hook):
        """Calls hook(module, inputs, results) after each call. What it returns replaces the results."""
        return _hooks.on_module(self, 'after', hook)

    def register_full_backward_hook(self, hook):
        """Calls hook(module, grad_input, grad_output) in each backward. What it returns replaces grad_input."""
        return _hooks.on_module(self, 'backward', hook)

    # ---- attributes

    def __getattr__(self, name):
        for kind in ('_parameters', '_buffers', '_modules'):
            found = self.__dict__.get(kind)
            if found is None:
                raise AttributeError(f'{type(self).__name__}.__init__ must call super().__init__() first')
            if name in found:
                return found[name]
        why = ': adze computes on the processor' if name == 'cuda' else ''
        raise AttributeError(f'{type(self).__name__} has no attribute {name!r}{why}')

    def __setattr__(self, name, value):
        store = self.__dict__
        if '_modules' not in store:
            if isinstance(value, (Parameter, Module)):
                raise AttributeError(f'{type(self).__name__}.__init__ must call super().__init__() first')
            return object.__setattr__(self, name, value)
        if isinstance(value, Parameter):
            self._forget(name, '_parameters')
            return self.register_parameter(name, value)
        if isinstance(value, Module):
            self._forget(name, '_modules')
            return self.add_module(name, value)
        if name in store['_parameters']:
            if value is not None:
                raise TypeError(f'{name} is a parameter: set it to a Parameter or None')
            store['_parameters'][name] = None
        elif name in store['_buffers']:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f'{name} is a buffer: set it to a Tensor or None')
            store['_buffers'][name] = value
        elif name in store['_modules']:
            if value is not None:
                raise TypeError(f'{name} is a module: set it to a Module or None')
            store['_modules'][name] = None
        else:
            object.__setattr__(self, name, value)
        return None

    def __delattr__(self, name):
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name, kept=None):
        """Removes an attribute, but not from the dictionary `kept`, in which it has its place in the order."""
        kinds = [self.__dict__[kind] for kind in ('_parameters', '_buffers', '_modules') if kind != kept]
        found = [kind for kind in kinds if name in kind]
        for kind in found:
            del kind[name]
        return bool(found) or self.__dict__.pop(name, self) is not self

    def register_parameter(self, name, value):
        if value is not None and not isinstance(value, Parameter):
            raise TypeError(f'{name} must be a Parameter or None')
        self._parameters[name] = value

    def register_buffer(self, name, tensor, persistent=True):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f'{name} must be a Tensor or None')
        self._buffers[name] = tensor
        if not persistent:
            self._not_saved.add(name)

    def add_module(self, name, module):
        if module is not None and not isinstance(module, Module):
            raise TypeError(f'{name} must be a Module or None, not {type(module).__name__}')
        self._modules[name] = module

    register_module = add_module

    # ---- what it consists of

    def named_children(self):
        return ((name, m) for name, m in self._modules.items() if m is not None)

    def children(self):
        return (m for _, m in self.named_children())

    def named_modules(self, memo=None, prefix=''):
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, m in self.named_children():
            yield from m.named_modules(memo, prefix + ('.' if prefix else '') + name)

    def modules(self):
        return (m for _, m in self.named_modules())

    def _named(self, kind, prefix, recurse, once=True):
        seen = set()
        for path, m in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in m.__dict__[kind].items():
                if value is not None and not (once and value in _Handles(seen)):
                    seen.add(hash(value))
                    yield path + ('.' if path else '') + name, value

    def named_parameters(self, prefix='', recurse=True):
        return self._named('_parameters', prefix, recurse)

    def parameters(self, recurse=True):
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix='', recurse=True):
        return self._named('_buffers', prefix, recurse)

    def buffers(self, recurse=True):
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, path):
        found = self
        for name in path.split('.') if path else []:
            found = found._modules[name]
        return found

    def get_parameter(self, path):
        owner, _, name = path.rpartition('.')
        return self.get_submodule(owner)._parameters[name]

    # ---- what applies to all

    def apply(self, function):
        for m in self.children():
            m.apply(function)
        function(self)
        return self

    def train(self, mode=True):
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.zero_()

    def to(self, *args, **options):
        """Another dtype for all parameters and buffers of floats. The device may only be the processor."""
        from .._dtype import dtype as class_of
        kinds = [a.dtype if isinstance(a, Tensor) else a for a in args if isinstance(a, (class_of, Tensor))]
        kinds += [options[n] for n in ('dtype',) if options.get(n) is not None]
        Tensor.to(_adze.zeros(()), *args, **options) # refuses other devices
        return self._converted(kinds[0]) if kinds else self

    def _converted(self, dtype):
        for m in self.modules():
            m._convert_own(dtype)
        return self

    def _convert_own(self, dtype):
        """The tensors stay the objects that they are, so that an optimizer goes on with them."""
        handle, wanted = _adze.module_of(type(self).forward), []
        for name, p in self._parameters.items():
            if p is not None and p.is_floating_point():
                wanted.append((p, p.requires_grad))
                _adze.module_add_parameter(handle, name, p)
        for name, b in self._buffers.items():
            if b is not None and b.is_floating_point():
                _adze.module_add_buffer(handle, name, b, True)
        _adze.module_to(handle, int(dtype))
        for p, requires_grad in wanted:
            if p.requires_grad != requires_grad:
                p.requires_grad_(requires_grad)
        for name, b in self._buffers.items():
            if b is not None and b.is_floating_point() and b.dtype != dtype:
                self._buffers[name] = _adze.module_get_buffer(handle, name)

    def float(self):
        from .._dtype import float32
        return self._converted(float32)

    def double(self):
        from .._dtype import float64
        return self._converted(float64)

    def cpu(self):
        return self

    # ---- state

    def state_dict(self, prefix=''):
        """All parameters and buffers by their names, each behind the prefix. They are the module's own elements, not
        copies."""
        made = collections.OrderedDict()
        for kind in ('_parameters', '_buffers'):
            for name, value in self.__dict__[kind].items():
                if value is not None and name not in self._not_saved:
                    made[prefix + name] = value.detach()
        for name, m in self.named_children(): # also one that is there twice
            made.update(m.state_dict(prefix=prefix + name + '.'))
        return made

    def load_state_dict(self, state_dict, strict=True):
        """Copies values into parameters and buffers."""
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        wrong = [f'{name} has the shape {tuple(state_dict[name].shape)} instead of {own[name].shape}'
                 for name in own if name in state_dict and tuple(state_dict[name].shape) != own[name].shape]
        if wrong or strict and (missing or unexpected):
            raise RuntimeError(f'load_state_dict of {type(self).__name__}: missing: {missing}; unexpected: '
                               f'{unexpected}; {"; ".join(wrong)}')
        with autograd.no_grad():
            for name, value in own.items():
                if name in state_dict:
                    value.copy_(state_dict[name])
        return LoadResult(missing, unexpected)

    # ---- printing

    def extra_repr(self):
        return ''

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        lines = []
        for name, m in self.named_children():
            first, *rest = repr(m).split('\n')
            lines += [f'({name}): {first}'] + rest
        extra = self.extra_repr()
        if not lines:
            return f'{self._get_name()}({extra})'
        return f'{self._get_name()}({extra}\n' + ''.join(f'  {line}\n' for line in lines) + ')'


class _Handles:
    """Whether the library's tensor behind an object was seen."""

    def __init__(self, seen):
        self._seen = seen

    def __contains__(self, value):
        return hash(value) in self._seen
