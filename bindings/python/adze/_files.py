"""Files of tensors, of networks and of trainings."""
from . import _adze
from ._dtype import float32
from ._tensor import _dtype_of
from .nn.module import Module


def save(obj, path):
    """Writes a module's state, a dictionary of tensors, or one tensor as a safetensors file."""
    state = obj.state_dict() if isinstance(obj, Module) else {'tensor': obj} if isinstance(obj, _adze.Tensor) else obj
    if not isinstance(state, dict) or not all(isinstance(v, _adze.Tensor) for v in state.values()):
        raise TypeError('save takes a module, a tensor or a dictionary of tensors')
    file = _adze.safetensors_new()
    if isinstance(obj, _adze.Tensor):
        _adze.safetensors_set_metadata(file, 'adze', 'tensor')
    for name, tensor in state.items():
        _adze.safetensors_add(file, name, tensor.detach().contiguous())
    _adze.safetensors_save(file, path)


def load(path):
    """Reads what save has written: a dictionary of tensors, or one tensor."""
    file = _adze.safetensors_load(path)
    made = {_adze.safetensors_name_at(file, i): _adze.safetensors_at(file, i).clone()
            for i in range(_adze.safetensors_count(file))}
    alone = _adze.safetensors_get_metadata(file, 'adze') == 'tensor'
    return made['tensor'] if alone else made


def onnx_load(path, dtype=float32, freeze_norms=False):
    """A network from an ONNX file (docs/onnx.md): a module in evaluation mode. Its floats are float32 or float64."""
    from .nn.layers import layer_of
    return layer_of(_adze.onnx_load(path, int(_dtype_of(dtype)), freeze_norms))


def _held(model, optimizer, schedulers, generators, loader):
    from .nn.layers import handle_of
    return {'model': None if model is None else handle_of(model),
            'optimizer': None if optimizer is None else optimizer._handle,
            'schedulers': [s._handle for s in schedulers], 'generators': list(generators),
            'loader': None if loader is None else loader._handle}


def save_checkpoint(path, model=None, optimizer=None, schedulers=(), generators=(), loader=None, epoch=0, step=0):
    """Writes all that a training needs to go on: weights, the optimizer's state, rates, random numbers, the position
    in the data. The model is a layer of the library or a Sequential of layers."""
    _adze.checkpoint_save(path=path, epoch=epoch, step=step, **_held(model, optimizer, schedulers, generators, loader))


def load_checkpoint(path, model=None, optimizer=None, schedulers=(), generators=(), loader=None):
    """Restores what save_checkpoint has written, bit by bit; gives {'epoch': ..., 'step': ...}."""
    made = _adze.checkpoint_load(path=path, **_held(model, optimizer, schedulers, generators, loader))
    if loader is not None:
        loader._begun = False # the next loop goes on where the other training stopped
    return made
