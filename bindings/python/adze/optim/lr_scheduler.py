"""Schedules of rates under the names of torch.optim.lr_scheduler."""
from .. import _adze
from . import state


# How many arguments behind the optimizer have the order that PyTorch gives them, where that is not all.
LIMITS = {'CyclicLR': 6, 'OneCycleLR': 2}


class LRScheduler:
    """Sets the rates of an optimizer, epoch by epoch."""
    _make, _names = None, {}

    def __init__(self, optimizer, *args, **options):
        if options.pop('last_epoch', -1) != -1:
            raise TypeError('a schedule goes on by adze.load_checkpoint and not by last_epoch')
        most = LIMITS.get(type(self).__name__, len(args))
        if len(args) > most:
            raise TypeError(f'{type(self).__name__} takes the optimizer and {most} arguments by position, because PyTorch '
                            'has the others in another order: give them by name')
        options = {self._names.get(n, n): v for n, v in options.items()}
        args, options = self._arguments(args, options)
        self.optimizer = optimizer
        self._handle = type(self)._make(optimizer._handle, *args, **options)

    def _arguments(self, args, options):
        def inner(v):
            return [s._handle for s in v] if isinstance(v, list) and v and isinstance(v[0], LRScheduler) else v
        return [inner(a) for a in args], {n: inner(v) for n, v in options.items()}

    def step(self, metric=None):
        if metric is None:
            _adze.scheduler_step(self._handle)
        elif isinstance(self, known.get('ReduceLROnPlateau', ())):
            _adze.scheduler_step_metric(self._handle, float(metric))
        else:
            _adze.scheduler_step_to(self._handle, float(metric))

    def state_dict(self):
        """Where the schedule is. The functions of a LambdaLR are not in it."""
        return state.of_scheduler(self)

    def load_state_dict(self, state_dict):
        """Goes on where the schedule was that gave the dictionary; the rates of the optimizer are its own state."""
        state.load_scheduler(self, state_dict)

    def get_last_lr(self):
        return [_adze.scheduler_last_lr(self._handle, i) for i in range(len(self.optimizer.param_groups))]

    @property
    def last_epoch(self):
        return _adze.scheduler_last_epoch(self._handle)


class _Function(LRScheduler):
    def _arguments(self, args, options):
        if len(args) + len(options) != 1 or not args and 'lr_lambda' not in options:
            raise TypeError(f'{type(self).__name__} takes an optimizer and lr_lambda')
        given = args[0] if args else options['lr_lambda']
        functions = given if isinstance(given, (list, tuple)) else None
        if functions is not None:
            return [lambda epoch, group: functions[group](epoch)], {}
        return [lambda epoch, group: given(epoch)], {}


class _Chained(LRScheduler):
    def __init__(self, schedulers, optimizer=None):
        self.optimizer = schedulers[0].optimizer
        self._handle = type(self)._make([s._handle for s in schedulers])


RENAMED = {'CosineAnnealingLR': {'T_max': 't_max'}, 'CosineAnnealingWarmRestarts': {'T_0': 't_0', 'T_mult': 't_mult'}}
known = {}
for _pair in _adze.schedulers.split():
    _name, _function = _pair.split('=')
    _base = _Function if _name in ('LambdaLR', 'MultiplicativeLR') else _Chained if _name == 'ChainedScheduler' else \
        LRScheduler
    known[_name] = type(_name, (_base,), {'_make': staticmethod(getattr(_adze, _function)),
                                          '_names': RENAMED.get(_name, {}),
                                          '__doc__': getattr(_adze, _function).__doc__,
                                          '__module__': 'adze.optim.lr_scheduler'})
globals().update(known)
