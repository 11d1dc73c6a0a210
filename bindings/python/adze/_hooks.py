"""Hooks: functions that see gradients of tensors, and calls and gradients of modules."""
from . import _adze
from ._function import Function


class RemovableHandle:
    """What registering a hook gives. remove() takes the hook away; a with-block does so at its end."""

    def __init__(self, remove):
        self._remove = remove

    def remove(self):
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def on_tensor(tensor, hook, accumulated):
    number = _adze.hook_add(tensor, hook, accumulated)
    return RemovableHandle(lambda: _adze.hook_remove(tensor, number))


def on_module(module, kind, hook):
    """Keeps a hook of a module under a number, by which its handle removes it."""
    if not callable(hook):
        raise TypeError(f'a hook is a function, not {type(hook).__name__}')
    if module.__dict__.get('_inside'):
        raise NotImplementedError(f'{type(module).__name__} is computed inside a layer of the library, which calls no hooks of '
                                  'its parts: register the hook on the layer around it')
    kinds = module.__dict__.get('_hooks')
    if kinds is None:
        kinds = module.__dict__['_hooks'] = {'before': {}, 'after': {}, 'backward': {}}
    number = object()
    kinds[kind][number] = hook

    def remove():
        kinds[kind].pop(number, None)
        if not any(kinds.values()) and module.__dict__.get('_hooks') is kinds:
            del module.__dict__['_hooks']
    return RemovableHandle(remove)


class _Inputs(Function):
    """Passes the inputs of a module on. Its backward has the gradients of all of them and calls the hooks."""

    @staticmethod
    def forward(ctx, call, *inputs):
        ctx.call = call
        ctx.set_materialize_grads(False)
        return inputs

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.call(grads))


class _Results(Function):
    """Passes the results of a module on. Its backward notes their gradients."""

    @staticmethod
    def forward(ctx, note, *results):
        ctx.note = note
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.note(grads))


def _watched(module, hooks, inputs, compute):
    """Computes a module between two functions whose backwards call the hooks."""
    from ._loops import flattened, like
    seen = {}

    def note(grads):
        seen['results'] = grads
        return grads

    def call(grads):
        for hook in list(hooks.values()):
            made = hook(module, grads, seen.get('results'))
            if made is not None:
                grads = made if isinstance(made, tuple) else (made,)
        return grads
    tensors = [x for x in inputs if isinstance(x, _adze.Tensor)]
    wanted = any(x.requires_grad for x in tensors) and _adze.is_grad_enabled()
    if wanted:
        passed = iter(_Inputs.apply(call, *tensors))
        inputs = tuple(next(passed) if isinstance(x, _adze.Tensor) else x for x in inputs)
    made = compute(inputs)
    results = flattened(made)
    if not any(y.requires_grad for y in results):
        return made
    if not wanted: # no input wants a gradient: the hooks are called with the results' gradients
        def note_alone(grads):
            seen['results'] = grads
            call((None,) * len(tensors))
            return grads
        return like(made, iter(_Results.apply(note_alone, *results)))
    return like(made, iter(_Results.apply(note, *results)))


def called(module, inputs, named, forward):
    """A call of a module that has hooks."""
    kinds = module.__dict__['_hooks']
    for hook in list(kinds['before'].values()):
        made = hook(module, inputs)
        if made is not None:
            inputs = made if isinstance(made, tuple) else (made,)
    backward = kinds['backward']
    if backward:
        made = _watched(module, backward, inputs, lambda given: forward(*given, **named))
    else:
        made = forward(*inputs, **named)
    for hook in list(kinds['after'].values()):
        other = hook(module, inputs, made)
        made = made if other is None else other
    return made
