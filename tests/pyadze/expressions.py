"""The names of expressions.txt, and what an expression gives as JSON. Shared by the test and by make_expressions.py."""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def lines():
    return [line for line in (HERE / 'expressions.txt').read_text(encoding='utf-8').splitlines() if line and line[0] != '#']


def names(torch):
    """The tensors of the expressions, which are the same for every library."""
    x = torch.tensor([[0.5, -1.25, 2.0, 0.75], [-0.5, 1.5, -2.25, 0.25], [1.0, -0.75, 0.125, -1.5]])
    y = torch.tensor([[-1.0, 0.5, 0.25, 2.0], [1.25, -0.25, 0.5, -1.0], [0.75, 1.0, -2.0, 0.5]])
    a = torch.tensor([[1.0, 0.5, -0.25, 0.0], [0.25, -1.0, 0.5, 2.0], [-0.5, 0.75, 1.5, 0.25], [0.0, -0.25, 1.0, -0.5]])
    i = torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0], [5, 7, 1, 2]])
    return {'torch': torch, 'nn': torch.nn, 'F': torch.nn.functional, 'x': x, 'y': y, 'A': a, 'i': i,
            'j': torch.tensor([[0, 1, 2, 1], [1, 2, 0, 1], [2, 0, 1, 3]]), 'v': torch.tensor([0.5, -1.0, 2.0, 0.25]),
            'c': torch.stack([x, y]), 'm': torch.tensor([[True, False, False, True], [False, True, False, False],
                                                          [True, True, False, True]]),
            'idx': torch.tensor([2, 0, 1]), 'w': torch.tensor([1.0, -2.0, 3.0]).requires_grad_(True)}


def plain(value):
    """A result as JSON has it: tensors with their dtype and shape."""
    if hasattr(value, 'dtype') and hasattr(value, 'tolist'):
        x = value.detach()
        numbers = x.to(x.dtype).reshape(-1).tolist()
        return {'dtype': str(x.dtype).rsplit('.', 1)[-1], 'shape': list(x.shape), 'numbers': [repr(n) for n in numbers]}
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return value
