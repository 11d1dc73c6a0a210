"""Parameters: tensors that a module owns and an optimizer changes."""
from .. import _adze
from .._tensor import Tensor


class Parameter(Tensor):
    """A leaf that wants a gradient and that a module finds among its attributes."""
    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _adze.empty((0,))
        if not isinstance(data, Tensor):
            raise TypeError(f'a Parameter is made of a Tensor, not {type(data).__name__}')
        made = super().__new__(cls, data.detach())
        if requires_grad:
            made.requires_grad_(True)
        return made

    @classmethod
    def _of(cls, tensor):
        """The same tensor of the library as a Parameter, for what a layer in C owns."""
        return Tensor.__new__(cls, tensor)

    def __repr__(self):
        return 'Parameter containing:\n' + self._text()

    def __reduce__(self):
        call, (_, *rest) = super().__reduce__()
        return call, (Parameter, *rest)

    def __deepcopy__(self, memo):
        made = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = made
        return made
