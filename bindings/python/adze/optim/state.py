"""The states of optimizers and schedules as dictionaries. They are the library's checkpoints (adze/io/checkpoint.h), whose
names are those of PyTorch, in memory."""
import copy
import json
import math

from .. import _adze


def _saved(optimizer, schedulers=()):
    """(copies of the tensors by name, what the checkpoint says of the optimizer)."""
    made = _adze.checkpoint_snapshot(optimizer=optimizer, schedulers=list(schedulers), allow_nonfinite=True)
    tensors = {_adze.safetensors_name_at(made, i): _adze.safetensors_at(made, i)
               for i in range(_adze.safetensors_count(made))}
    return tensors, _said(made)


def _said(collection):
    keys = [_adze.safetensors_metadata_key_at(collection, i) for i in range(_adze.safetensors_metadata_count(collection))]
    return {key: _adze.safetensors_get_metadata(collection, key) for key in keys}


def _loaded(optimizer, schedulers, tensors, said):
    made = _adze.safetensors_new()
    for name, value in said.items():
        _adze.safetensors_set_metadata(made, name, value)
    for name, tensor in tensors.items():
        _adze.safetensors_add(made, name, tensor.detach().contiguous())
    _adze.checkpoint_restore(collection=made, optimizer=optimizer, schedulers=list(schedulers))


def _places(optimizer):
    """The parameters of all groups, by their numbers."""
    return [p for group in optimizer.param_groups for p in group['params']]


def of_optimizer(optimizer):
    tensors, said = _saved(optimizer._handle)
    about = json.loads(said['optimizer'])
    made = {'state': {}, 'param_groups': about['param_groups'], 'name': about['name']}
    for group in made['param_groups']:
        group.update({name: float(value) for name, value in group.items() if isinstance(value, str)})  # 'inf'
        if 'beta1' in group:
            group['betas'] = group.pop('beta1'), group.pop('beta2')
    for name, tensor in tensors.items():
        _, number, key = name.split('.', 2)
        made['state'].setdefault(int(number), {})[key] = tensor
    if type(optimizer)._make is None:
        for number, p in enumerate(_places(optimizer)):
            if p in _Keys(optimizer.state):
                made['state'].setdefault(number, {}).update(copy.deepcopy(optimizer.state[p]))
        for group, own in zip(made['param_groups'], optimizer.param_groups):
            group.update({name: own[name] for name in own._kinds})
            group.update(copy.deepcopy(own._more))
    return made


class _Keys:
    """Whether a dictionary has a tensor as a key, without comparing elements."""

    def __init__(self, of):
        self._hashes = {hash(p) for p in of}

    def __contains__(self, p):
        return hash(p) in self._hashes


def _finite(name, value):
    if not math.isfinite(value):
        raise ValueError(f'load_state_dict: {name} is {value}, but must be finite')
    return float(value)


def _of_program(name, value):
    """A setting of a program's own optimizer. JSON has no number for inf and nan, so these are texts."""
    return float(value) if math.isfinite(value) else str(float(value))


def load_optimizer(optimizer, given):
    """Refuses what does not fit before anything changes. As in PyTorch, a parameter's state has the number that stands at
    the parameter's place in the groups."""
    _, said = _saved(optimizer._handle)
    about = json.loads(said['optimizer'])
    groups = [dict(g) for g in given['param_groups']]
    if len(groups) != len(about['param_groups']) or \
            any(len(g['params']) != len(o['params']) for g, o in zip(groups, about['param_groups'])):
        raise ValueError('load_state_dict: the groups have other numbers of parameters than those of the optimizer')
    own = type(optimizer)._make is None
    native = set(optimizer.states) | {'step'} if own else None
    more = []
    for at, (group, known) in enumerate(zip(groups, about['param_groups'])):
        if 'betas' in group and 'beta1' in known:
            known['beta1'], known['beta2'] = (_finite('betas', beta) for beta in group.pop('betas'))
        unknown = {n: v for n, v in group.items() if n != 'params' and n not in known and n != 'initial_lr'}
        if not own:
            _refuse(optimizer, unknown)
        more.append(unknown if own else {})
        for name, value in group.items():
            if name in known and name != 'params':
                known[name] = bool(value) if isinstance(known[name], bool) else (_of_program if own else _finite)(name, value)
        if 'initial_lr' in group:
            known['initial_lr'] = _finite('initial_lr', group['initial_lr'])
        groups[at] = known
    tensors, others = {}, {}
    places = {int(n): place for place, n in enumerate(n for g in given['param_groups'] for n in g['params'])}
    for number, values in given['state'].items():
        if int(number) not in places:
            raise ValueError(f'load_state_dict: state {number} is of no parameter; the optimizer has {len(places)}')
        place = places[int(number)]
        for key, value in values.items():
            if isinstance(value, _adze.Tensor) and (native is None or key in native):
                tensors[f'state.{place}.{key}'] = value.to(_adze_int64()) if key == 'step' else value
            elif native is None:
                raise TypeError(f'load_state_dict: state {number} has {key!r}, which is {type(value).__name__} and no tensor of adze')
            else:
                others.setdefault(place, {})[key] = value
    about['param_groups'] = groups
    about['name'] = given.get('name', about['name'])
    said['optimizer'] = json.dumps(about)
    _loaded(optimizer._handle, (), tensors, {n: v for n, v in said.items() if not n.startswith('scheduler')})
    if own:
        places = _places(optimizer)
        optimizer.state.clear()
        for number, values in others.items():
            optimizer.state[places[number]] = copy.deepcopy(values)
        for group, values in zip(optimizer.param_groups, more):
            group._more.update(copy.deepcopy(values))


# How PyTorch computes, not what: these say nothing to adze.
_HOW = {'foreach', 'fused', 'capturable', 'differentiable'}


def _refuse(optimizer, unknown):
    known = _HOW | ({'decoupled_weight_decay'} if type(optimizer).__name__ == 'AdamW' else set()) # it always is there
    wrong = sorted(n for n, v in unknown.items() if n not in known and v not in (None, False))
    if wrong:
        raise KeyError(f'load_state_dict: a group has {wrong[0]!r}, which this optimizer has not')


def _adze_int64():
    from .._dtype import int64
    return int64


def of_scheduler(scheduler):
    tensors, said = _saved(scheduler.optimizer._handle, [scheduler._handle])
    return {'last_epoch': scheduler.last_epoch, 'state': tensors['scheduler.0'], 'name': said['scheduler.0']}


def load_scheduler(scheduler, given):
    if 'state' not in given or 'name' not in given:
        raise TypeError('load_state_dict: a schedule of adze takes what state_dict() of one has given')
    tensors, said = _saved(scheduler.optimizer._handle, [scheduler._handle])
    tensors['scheduler.0'], said['scheduler.0'] = given['state'], given['name']
    _loaded(scheduler.optimizer._handle, [scheduler._handle], tensors, said)
