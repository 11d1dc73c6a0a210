"""Loops and branches that a captured step keeps as loops and branches (docs/loops.md)."""
from . import _adze


def flattened(tree):
    """The tensors of nested tuples, lists and dictionaries, in order; None has none."""
    if isinstance(tree, _adze.Tensor):
        return [tree]
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [t for key in sorted(tree) for t in flattened(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [t for one in tree for t in flattened(one)]
    raise TypeError(f'a loop carries tensors in tuples, lists and dictionaries, not {type(tree).__name__}')


def like(tree, tensors):
    """The tree with other tensors in the places of its own. `tensors` is an iterator."""
    if isinstance(tree, _adze.Tensor):
        return next(tensors)
    if tree is None:
        return None
    if isinstance(tree, dict):
        made = {key: like(tree[key], tensors) for key in sorted(tree)}
        return {key: made[key] for key in tree}
    made = [like(one, tensors) for one in tree]
    return type(tree)(*made) if hasattr(tree, '_fields') else type(tree)(made)


def form(tree):
    """Where a tree has tensors. Trees of one form are equal here; a list and a tuple are of one form."""
    if isinstance(tree, dict):
        return {key: form(one) for key, one in tree.items()}
    return [form(one) for one in tree] if isinstance(tree, (tuple, list)) else tree is None


def scan(combine_fn, init, xs=None, *, length=None, reverse=False, results=1):
    """Calls combine_fn(carry, x) for each x = xs[t]; it gives the next carry and a result: (carry, y).

    Returns the last carry and the results of all steps, stacked. `init` and `xs` are tensors, or tuples, lists or
    dictionaries of them; without xs, `length` says how many steps there are. `results` is the number of tensors in y;
    y is None for 0. With reverse the last element comes first. See torch._higher_order_ops.scan and jax.lax.scan.
    """
    start, given, trees = flattened(init), flattened(xs), {}
    n = len(start)

    def body(*tensors):
        made = combine_fn(like(init, iter(tensors[:n])), like(xs, iter(tensors[n:])))
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise TypeError('scan: combine_fn must return the next carry and a result, (carry, y)')
        carries, ys = flattened(made[0]), flattened(made[1])
        if len(carries) != n:
            raise ValueError(f'scan: combine_fn returned {len(carries)} tensors as the next carry, but there are {n}')
        if form(made[0]) != form(init):
            raise ValueError('scan: combine_fn must return the next carry in the form of init: the same keys, tuples and places '
                             'of None')
        if len(ys) != results:
            raise ValueError(f'scan: combine_fn returned {len(ys)} tensors as a result, but results={results}: say '
                             f'results={len(ys)}')
        trees['y'] = made[1]
        return tuple(carries + ys)
    made = _adze.scan(body, start, given, results, bool(reverse), length)
    return like(init, iter(made[:n])), like(trees.get('y'), iter(made[n:]))


def while_loop(cond_fn, body_fn, carried_inputs, *, max_iterations=None, return_count=False):
    """Calls body_fn(*carries) as long as cond_fn(*carries) is true; it gives the next carries. Returns the last ones.

    carried_inputs is a tuple or list of tensors. With a bound, reaching it ends the loop without an error. With
    return_count the result is (carries, the number of steps, whether the condition has ended the loop). In a captured
    step, a loop that wants a gradient needs a bound of at most 65535. See torch.while_loop.
    """
    carries = list(carried_inputs) if isinstance(carried_inputs, (tuple, list)) else None
    if carries is None:
        raise TypeError(f'while_loop: carried_inputs is a tuple of tensors, not {type(carried_inputs).__name__}')

    def body(*tensors):
        made = body_fn(*tensors)
        made = (made,) if isinstance(made, _adze.Tensor) else made
        if not isinstance(made, (tuple, list)) or len(made) != len(carries):
            raise ValueError(f'while_loop: body_fn must return {len(carries)} tensors, as many as are carried')
        return tuple(made)
    made, count, ended = _adze.while_loop(cond_fn, body, carries, max_iterations)
    return (tuple(made), count, ended) if return_count else tuple(made)


def cond(pred, true_fn, false_fn, operands=(), *, results=1):
    """true_fn(*operands) where pred is true, else false_fn(*operands). pred is a tensor with one element, or a bool.

    The functions return a tensor, or a tuple, list or dictionary with `results` tensors. See torch.cond.
    """
    if isinstance(pred, bool):
        return true_fn(*operands) if pred else false_fn(*operands)
    trees = {}

    def body(function):
        def call(*tensors):
            made = function(*tensors)
            found = flattened(made)
            if len(found) != results:
                raise ValueError(f'cond: a function returned {len(found)} tensors, but results={results}: say '
                                 f'results={len(found)}')
            if form(trees.setdefault('y', made)) != form(made):
                raise ValueError('cond: the functions must return the same form: the same keys, tuples and places of None')
            return tuple(found)
        return call
    made = _adze.branch(pred, body(true_fn), body(false_fn), list(operands), results)
    return like(trees['y'], iter(made)) if trees else made[0]
