"""Roots of functions and ordinary differential equations, with derivatives.

A function gets tensors and returns one. Gradients reach `arguments` and all other tensors that the function uses.
Options are those of the library (solvers.h), as keywords: tolerance, rows, rtol, atol, method and so on.
"""
import operator

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


def odeint_events(function, y0, times, events, arguments=(), **options):
    """The solution of y' = function(t, y, *arguments) at the times, and all hits of several events on the way.

    An event is a function event(t, y, *arguments) that gives one element; it is hit where that changes its sign. As in
    scipy.integrate.solve_ivp, an attribute event.direction above or below 0 wants rising or falling signs only, and
    event.terminal = n ends the solution at the n-th hit (True: at the first). Returns (states, hits, ended): the states
    at the times up to the end, a pair (times [H], states [H, ...]) for each event, and the index of the event that has
    ended the solution, or None. All are differentiable. There are 1 to 16 events.
    """
    signs = [getattr(e, 'direction', 0) for e in events]
    triples = [(e, (d > 0) - (d < 0), operator.index(getattr(e, 'terminal', None) or 0)) for e, d in zip(events, signs)]
    found, ended = _adze.odeint_events(function, y0, times, list(arguments), triples, **options)
    hits = [(found[1 + 2 * i], found[2 + 2 * i]) for i in range(len(triples))]
    return found[0], hits, None if ended < 0 else ended
