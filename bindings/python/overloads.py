"""Stubs of functions written in Python whose result has another type for other arguments: pairs (parameters, result).

The first one that takes the arguments of a call says its result. A key is the function's class or file, and its name.
"""
DIM = 'dim: int, keepdim: bool = ...'
UNIQUE = 'return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: int | None = ...'
INVERSE = 'return_inverse: Literal[True], return_counts: bool = ..., dim: int | None = ...'
COUNTS = '*, return_inverse: bool = ..., return_counts: Literal[True], dim: int | None = ...'
FUNCTION = 'function: Callable[..., Any], '
ONE, MANY = FUNCTION + 'inputs: Tensor, ', FUNCTION + 'inputs: Sequence[Tensor], '
GRAPH, RESULTS = 'create_graph: bool = ...', 'results: int = ..., create_graph: bool = ...'
ALL = 'tuple[Tensor, ...]'
LOOP = 'cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Tensor], *, max_iterations: int | None = ...'
GRAD = ('outputs: Tensor | Sequence[Tensor], inputs: Tensor | Iterable[Tensor], '
        'grad_outputs: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: bool | None = ..., create_graph: bool = ..., ')


def extremes(other):
    return [('self, dim: None = ..., keepdim: Literal[False] = ...', 'Tensor'), (f'self, {DIM}', '_Extreme'),
            *([('self, dim: Tensor', 'Tensor')] if other else [])]


def table(one, many):
    """Those of a derivative of a function of one tensor, and of a function of several."""
    return [(f'{ONE}*, {GRAPH}', one), (f'{MANY}*, {GRAPH}', many), (f'{FUNCTION}inputs: Any, *, {RESULTS}', 'Any')]


OVERLOADS = {
    'Tensor.size': [('self, dim: None = ...', 'tuple[int, ...]'), ('self, dim: int', 'int')],
    'Tensor.max': extremes(True), 'Tensor.min': extremes(True), 'Tensor.median': extremes(False),
    'Tensor.unique': [(f'self, sorted: bool = ..., {UNIQUE}', 'Tensor'), (f'self, sorted: bool, {INVERSE}', ALL),
                      (f'self, sorted: bool = ..., *, {INVERSE}', ALL), (f'self, sorted: bool = ..., {COUNTS}', ALL)],
    'Tensor.unique_consecutive': [(f'self, {UNIQUE}', 'Tensor'), (f'self, {INVERSE}', ALL), (f'self, {COUNTS}', ALL)],
    '_more.nonzero': [('input: Tensor, *, as_tuple: Literal[False] = ...', 'Tensor'),
                      ('input: Tensor, *, as_tuple: Literal[True]', ALL)],
    '_more.stride': [('input: Tensor, dim: None = ...', 'tuple[int, ...]'), ('input: Tensor, dim: int', 'int')],
    '__init__.where': [('condition: Tensor', ALL),
                       ('condition: Tensor, input: Tensor | float, other: Tensor | float', 'Tensor')],
    'autograd.grad': [(f'{GRAD}allow_unused: Literal[False] = ...', ALL),
                      (f'{GRAD}*, allow_unused: bool', 'tuple[Tensor | None, ...]')],
    '_loops.while_loop': [(f'{LOOP}, return_count: Literal[False] = ...', ALL),
                          (f'{LOOP}, return_count: Literal[True]', f'tuple[{ALL}, int, bool]')],
    'func.jacobian': table('Tensor', ALL), 'func.jacobian_rows': table('Tensor', ALL),
    'func.hessian': table('Tensor', f'tuple[{ALL}, ...]')[:2],
    'func.hvp': [(f'{ONE}v: Any, *, {GRAPH}', 'tuple[Tensor, Tensor]'), (f'{MANY}v: Any, *, {GRAPH}', f'tuple[Tensor, {ALL}]')],
    'func.vjp': [(f'{ONE}v: Any = ..., *, {GRAPH}', 'tuple[Tensor, Tensor]'),
                 (f'{MANY}v: Any = ..., *, {GRAPH}', f'tuple[Tensor, {ALL}]'),
                 (f'{FUNCTION}inputs: Any, v: Any = ..., *, {RESULTS}', 'tuple[Any, Any]')],
    'func.jvp': [(f'{FUNCTION}inputs: Any, v: Any, *, {GRAPH}', 'tuple[Tensor, Tensor]'),
                 (f'{FUNCTION}inputs: Any, v: Any, *, {RESULTS}', f'tuple[{ALL}, {ALL}]')],
}
