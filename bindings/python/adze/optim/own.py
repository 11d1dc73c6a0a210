"""Optimizers of a program's own: an update of one parameter, or a step as torch.optim.Optimizer has them."""
import numbers

from .. import _adze

_types = {} # the library's types, by name, settings and states: they live as long as the process


def number_of(name, value):
    try:
        return float(value if not isinstance(value, str) else None)
    except (TypeError, ValueError):
        raise TypeError(f'the setting {name} of an optimizer is a number, not {type(value).__name__}') from None


def kinds_of(defaults):
    """The settings that are flags or whole numbers. The rate is a float, because schedules change it."""
    made = {n: bool if isinstance(v, bool) else int for n, v in defaults.items() if isinstance(v, numbers.Integral) and n != 'lr'}
    for name in made:
        if int(float(defaults[name])) != defaults[name]:
            raise OverflowError(f'the setting {name} of an optimizer is {defaults[name]}, which float64 cannot hold')
    return made


def rows_of(defaults):
    """The settings that are numbers, as the library has them: (name, value, whether it is a flag), lr first."""
    given = {}
    for name, value in defaults.items():
        if name == 'betas':
            given['beta1'], given['beta2'] = value
        elif isinstance(value, numbers.Real):
            given[name] = value
    rate = number_of('lr', defaults.get('lr', 1.0))
    given.pop('lr', None)
    return [('lr', rate, False)] + [(n, float(v), isinstance(v, bool)) for n, v in given.items()]


def type_of(name, rows, states):
    key = name, tuple(rows), tuple(states)
    if key not in _types:
        _types[key] = _adze.optimizer_type(name, rows, list(states))
    return _types[key]


def updater(optimizer, rows, states):
    """The function that the library calls for each parameter: it gets lists, and update() gets dictionaries."""
    names = [name for name, _, _ in rows]

    def call(parameter, gradient, values, settings):
        state = dict(zip(states, values))
        group = dict(zip(names + ['step'], settings))
        made = optimizer.update(parameter, gradient, state, group)
        if isinstance(made, _adze.Tensor):
            made = made, {}
        if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], dict):
            raise TypeError(f'{type(optimizer).__name__}.update must return the new parameter and a dictionary of new states')
        unknown = set(made[1]) - set(states)
        if unknown:
            raise KeyError(f'{type(optimizer).__name__} has no state {sorted(unknown)[0]!r}: name it in the list `states`')
        return (made[0], *(made[1].get(name, state[name]) for name in states))
    return call
