"""Roots of functions and ordinary differential equations, with derivatives.

A function gets tensors and returns one. Gradients reach `arguments` and all other tensors that the function uses.
Options are those of the library (solvers.h), as keywords: tolerance, rows, rtol, atol, method and so on.
"""
from . import _adze


def root(function, x0, arguments=(), **options):
    """x with function(x, *arguments) = 0, from a start x0."""
    return _adze.root_many(function, x0, list(arguments), **options)


def odeint(function, y0, times, arguments=(), **options):
    """The solution of y' = function(t, y, *arguments) at the times, of which the first is that of y0."""
    return _adze.odeint_many(function, y0, times, list(arguments), **options)


def odeint_event(function, y0, times, event, arguments=(), **options):
    """The solution of y' = function(t, y, *arguments) up to the first time at which event(t, y, *arguments) becomes 0.

    times has the first time and the last one at which an event is looked for. Returns (time, state), which are
    differentiable. With event_direction=1 an event is where its function rises, with -1 where it falls.
    """
    return _adze.odeint_event(function, y0, times, list(arguments), event, **options)
