#!/usr/bin/env python3
"""Norms of channels, and parametrised weights, as PyTorch has them: random shapes and options in f64, values, first
and second derivatives, and what training leaves in buffers. Exits with 77 where there is no torch.

usage: test_channels.py LIBADZE.so ADZE.json [ROUNDS]
"""
import ctypes
import random
import sys

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.nn.utils import parametrizations
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)

from adze_table import Library

TOLERANCE = 1e-10  # of the largest element, or of 0.01
KERNELS = torch._weight_norm
SCALES = (1, 1, 1e-3, 1e3)


class Bridge:
    """Tensors in both directions, derivatives by adze, and comparisons, which are counted."""

    def __init__(self, lib):
        self.lib, self.compared, self.worst = lib, 0, (0.0, 'nothing')

    def to_adze(self, t, leaf=False):
        t = t.detach().contiguous()
        made = self.lib.adz_tensor_from(ctypes.c_void_p(t.data_ptr()), self.lib.shape(*t.shape), self.lib.ADZ_F64)
        return self.lib.adz_requires_grad_(made, True) if leaf else made

    def to_torch(self, t):
        t = self.lib.adz_contiguous(self.lib.adz_to(self.lib.adz_detach(t), self.lib.ADZ_F64))
        shape = self.lib.adz_tensor_shape(t)
        sizes = list(shape.sizes[:shape.rank])
        made = torch.empty(sizes, dtype=torch.float64)
        ctypes.memmove(made.data_ptr(), self.lib.adz_tensor_data(t), made.numel() * 8)
        return made

    def same(self, what, ours, theirs):
        ours, theirs = self.to_torch(ours), theirs.detach().double()
        assert ours.shape == theirs.shape, f'{what}: {tuple(ours.shape)}, not {tuple(theirs.shape)}'
        if theirs.numel():
            apart = float((ours - theirs).abs().max() / (1e-2 + theirs.abs().max()))
            assert apart <= TOLERANCE, f'{what}: {apart:.3g} apart'
            self.worst = max(self.worst, (apart, what))
        self.compared += theirs.numel()

    def gradients(self, y, upstream, inputs, graph):
        n, lib = len(inputs), self.lib
        pointer = ctypes.POINTER(lib.types['adz_tensor'])
        results = (pointer * n)()
        options = lib.options('adz_backward_options', create_graph=graph, retain_graph=True, allow_unused=True)
        lib.adz_autograd_grad((pointer * 1)(y), (pointer * 1)(upstream), 1, (pointer * n)(*inputs), n, options, results)
        none = ctypes.cast(lib.adz_none(), ctypes.c_void_p).value
        return [None if ctypes.cast(g, ctypes.c_void_p).value == none else g for g in results]

    def derivatives(self, what, ours, theirs, our_inputs, inputs):
        """Values, gradients, and gradients of sum(gradient v) for random v."""
        self.same(what, ours, theirs)
        u = torch.randn_like(theirs)
        first = torch.autograd.grad(theirs, inputs, u, create_graph=True)
        our_first = self.gradients(ours, self.to_adze(u), our_inputs, True)
        v = [torch.randn_like(t) for t in inputs]
        number = sum((a * b).sum() for a, b in zip(first, v))
        second = (torch.autograd.grad(number, inputs, allow_unused=True) if number.requires_grad
                  else [None] * len(inputs))
        lib, whole = self.lib, None
        for i, g in enumerate(our_first):
            self.same(f'{what}, gradient {i}', g, first[i])
            part = lib.adz_sum(lib.adz_mul(g, self.to_adze(v[i])), lib.adz_dims_of(0, None), False)
            whole = part if whole is None else lib.adz_add(whole, part)
        our_second = [None] * len(inputs)
        if lib.adz_tensor_requires_grad(whole): # a function that is linear in all has none
            our_second = self.gradients(whole, lib.adz_scalar(1, lib.ADZ_F64), our_inputs, False)
        for i, (g, wanted) in enumerate(zip(our_second, second)):
            zeros = torch.zeros_like(inputs[i])
            self.same(f'{what}, second gradient {i}', self.to_adze(zeros) if g is None else g,
                      zeros if wanted is None else wanted)


def some(rank, channels=None):
    sizes = [random.randint(1, 4) for _ in range(rank)]
    if channels:
        sizes[1] = channels
    return torch.randn(sizes, dtype=torch.float64) * random.choice(SCALES)


def functions(b):
    x = some(random.randint(3, 5)).requires_grad_()
    size, alpha = random.randint(1, 6), random.uniform(0, 1)
    beta, k = random.uniform(0.1, 2), random.uniform(0.5, 3)
    ours = b.to_adze(x, True)
    b.derivatives(f'local_response_norm {tuple(x.shape)} {size}',
                  b.lib.adz_local_response_norm(ours, size, alpha, beta, k),
                  F.local_response_norm(x, size, alpha, beta, k), [ours], [x])
    groups = random.randint(1, 3)
    x = some(random.randint(3, 5), groups * random.randint(1, 3)).requires_grad_()
    b.same('channel_shuffle', b.lib.adz_channel_shuffle(b.to_adze(x), groups), F.channel_shuffle(x, groups))
    x = some(4, min(random.randint(1, 4), (size + 1) // 2)) # with more channels PyTorch keeps the first one
    lrn = b.lib.adz_cross_map_lrn2d_new(size, alpha, beta, k)
    b.same(f'CrossMapLRN2d {size}', b.lib.adz_module_forward(lrn, b.to_adze(x)),
           nn.CrossMapLRN2d(size, alpha, beta, k)(x))
    b.lib.adz_module_release(lrn)


def state_to_adze(b, module, model):
    for name, t in model.state_dict().items():
        get = b.lib.adz_module_get_parameter if name in dict(model.named_parameters()) else b.lib.adz_module_get_buffer
        if t.is_floating_point():
            b.lib.adz_copy_(b.lib.adz_detach(get(module, name.encode())), b.to_adze(t))


def parameters(b, module, model):
    return [b.lib.adz_module_get_parameter(module, name.encode()) for name, _ in model.named_parameters()]


def trained(b, what, module, model, inputs):
    """Some calls in training, one in evaluation: derivatives by x and parameters, and the buffers after each."""
    state_to_adze(b, module, model)
    for i, x in enumerate(inputs):
        model.train(i < len(inputs) - 1)
        b.lib.adz_module_train(module, model.training)
        x.requires_grad_()
        ours = b.to_adze(x, True)
        y, z = b.lib.adz_module_forward(module, ours), model(x)
        b.derivatives(f'{what} {i}', y, z, [ours] + parameters(b, module, model), [x] + list(model.parameters()))
        for name, t in model.named_buffers():
            b.same(f'{what} {i}, {name}', b.lib.adz_module_get_buffer(module, name.encode()), t)
    b.lib.adz_module_release(module)


def norms(b):
    spatial, channels = random.randint(1, 3), random.randint(1, 4)
    affine, track = random.random() < 0.5, random.random() < 0.5
    momentum, eps = random.uniform(0, 1), random.choice((1e-5, 1e-3))
    inputs = [torch.randn([3, channels] + [random.randint(2, 3) for _ in range(spatial)], dtype=torch.float64)
              for _ in range(3)]
    model = getattr(nn, f'InstanceNorm{spatial}d')(channels, eps, momentum, affine, track).double()
    o = b.lib.options('adz_instance_norm_options', eps=eps, momentum=momentum, affine=affine, track_running_stats=track,
                      dtype=b.lib.ADZ_F64)
    module = getattr(b.lib, f'adz_instance_norm{spatial}d_new')(channels, o)
    trained(b, f'InstanceNorm{spatial}d', module, model, inputs)
    cumulative = random.random() < 0.3
    model = getattr(nn, f'BatchNorm{spatial}d')(channels, eps, None if cumulative else momentum, affine, track).double()
    o = b.lib.options(f'adz_batch_norm{spatial}d_options', eps=eps, momentum=-1 if cumulative else momentum,
                      affine=affine, track_running_stats=track, dtype=b.lib.ADZ_F64)
    module = getattr(b.lib, f'adz_batch_norm{spatial}d_new')(channels, o)
    trained(b, f'BatchNorm{spatial}d', module, model, [x.detach() for x in inputs])


def layer(b):
    """A random layer of both, and an input for it."""
    kind = random.choice(('linear', 'conv1d', 'conv2d', 'transposed'))
    (n, m, k), lib = (random.randint(1, 4) for _ in range(3)), b.lib
    if kind == 'linear':
        return lib.adz_linear_new(n, m, None), nn.Linear(n, m), [3, n]
    if kind == 'conv1d':
        return lib.adz_conv1d_new(n, m, k, None), nn.Conv1d(n, m, k), [2, n, k + 2]
    if kind == 'conv2d':
        return lib.adz_conv2d_new(n, m, lib.shape(k, 2), None), nn.Conv2d(n, m, (k, 2)), [2, n, k + 1, 3]
    return lib.adz_conv_transpose1d_new(n, m, k, None), nn.ConvTranspose1d(n, m, k), [2, n, 3]


def weight_norms(b):
    module, model, sizes = layer(b)
    model = model.double()
    b.lib.adz_module_to(module, b.lib.ADZ_F64)
    dim = random.choice([None] + list(range(model.weight.dim())))
    parametrizations.weight_norm(model, dim=dim)
    b.lib.adz_weight_norm(module, b'weight', -1 if dim is None else dim)
    state_to_adze(b, module, model)
    b.same('weight', b.lib.adz_module_get_parameter(module, b'weight'), model.weight)
    # The second derivatives of PyTorch's own kernels fail its gradgradcheck for the first and the last dimension.
    torch._weight_norm = lambda v, g, dim: v * (g / torch.norm_except_dim(v, 2, dim))
    trained(b, f'weight_norm {dim} of {type(model).__name__}', module, model,
            [torch.randn(sizes, dtype=torch.float64) for _ in range(2)])
    torch._weight_norm = KERNELS


def spectral_norms(b):
    module, model, sizes = layer(b)
    model = model.double()
    b.lib.adz_module_to(module, b.lib.ADZ_F64)
    dim, n = random.choice([None] + list(range(-model.weight.dim(), model.weight.dim()))), random.randint(1, 3)
    parametrizations.spectral_norm(model, n_power_iterations=n, dim=dim)
    o = b.lib.options('adz_spectral_norm_options', n_power_iterations=n)
    if dim is not None:
        o.dim = dim
    b.lib.adz_spectral_norm(module, b'weight', o)
    if random.random() < 0.5:
        parametrizations.spectral_norm(model, 'bias', dim=0)
        b.lib.adz_spectral_norm(module, b'bias', None)
    trained(b, f'spectral_norm {dim} of {type(model).__name__}', module, model,
            [torch.randn(sizes, dtype=torch.float64) for _ in range(4)])


def main():
    if not hasattr(parametrizations, 'weight_norm'):
        print(f'needs PyTorch 2.1 or later, and this is {torch.__version__}')
        return 77
    torch.manual_seed(6)
    random.seed(6)
    torch.set_num_threads(1)
    lib = Library(*sys.argv[1:3])
    b = Bridge(lib)
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 60):
        for test in (functions, norms, weight_norms, spectral_norms):
            scope = lib.adz_scope_open()
            test(b)
            lib.adz_scope_close(scope)
    print(f'{b.compared} numbers compared, at most {b.worst[0]:.1e} apart: {b.worst[1]}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
