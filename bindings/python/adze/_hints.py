"""What to do instead of what PyTorch has and adze has not."""
import difflib

INSTEAD = {
    't_': 'write x = x.t()', 'transpose_': 'write x = x.transpose(...)', 'unsqueeze_': 'write x = x.unsqueeze(...)',
    'squeeze_': 'write x = x.squeeze(...)', 'resize_': 'make a new tensor', 'set_': 'make a new tensor',
    'cuda': 'adze computes on the processor', 'vmap': 'the functions of adze take batches; adze.func.jacobian_rows has the '
    'derivatives of each row', 'compile': 'adze.capture(step) makes a plan of a step', 'as_strided': 'use slices, unfold or expand',
    'complex': 'adze has no complex numbers', 'fft': 'adze has no Fourier transforms', 'sparse': 'adze has no sparse tensors',
    'jit': 'adze.capture(...).write_c(path) and write_onnx(path) write networks', 'grad_fn': 'x.is_leaf says whether an operator '
    'made the tensor', 'map_': 'use operators', 'share_memory_': 'use threads', 'is_cuda': 'adze computes on the processor',
    'once_differentiable': 'write the backward with operators of adze', 'amp': 'adze.set_matmul_precision chooses faster products',
    'normal': 'write adze.randn(size) * std + mean', 'FloatTensor': 'adze.tensor makes one of numbers',
    'LongTensor': 'adze.tensor(numbers, dtype=adze.int64) makes one of numbers',
    'storage': 'x.numpy() shares the memory', 'data_ptr': 'x.numpy() shares the memory', 'pin_memory': 'leave it out',
    'eig': 'adze has eigh, for symmetric matrices', 'eigvals': 'adze has eigvalsh, for symmetric matrices',
}


def of(name, known):
    """A hint behind the message that a name is missing."""
    if name in INSTEAD:
        return ': ' + INSTEAD[name]
    near = difflib.get_close_matches(name, [k for k in known if not k.startswith('_')], 1, 0.8)
    return f'; is it {near[0]}?' if near else ''
