#!/usr/bin/env python3
"""Networks of PyTorch, exported by both of its exporters, and one that is written with onnxscript: read, tuned for some
steps, and written again. The losses must be PyTorch's, and onnxruntime must compute what the tuned network computes.
Exits with 77 where a package is missing.

usage: training.py LIBADZE.so ADZE.json LIBADZE-ONNX.so
"""

import copy
import ctypes
import logging
import pathlib
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'python'))
try:
    import numpy
    import onnxruntime
    import onnx
    import onnxscript
    import torch
    from torch import nn
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)

from adze_table import Failed, Library

STEPS = 100
TOLERANCE = 1e-4 # of losses, and of what onnxruntime computes
RATE = 1e-2


class Control(nn.Module):
    """A law of control: tanh of linear layers."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(6, 32), nn.Linear(32, 32), nn.Linear(32, 6)

    def forward(self, x):
        return self.out(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


class Images(nn.Module):
    """Convolutions, normalisation of the batch and pools."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.fc = nn.Conv2d(8, 16, 3), nn.Linear(16 * 3 * 3, 5)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2)
        return self.fc(torch.relu(self.conv2(x)).flatten(1))


class Tokens(nn.Module):
    """An embedding and a layer of a transformer."""

    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0.0)

    def forward(self, x):
        return self.out(self.layer(self.embedding(x)))


NETWORKS = {
    'control': (Control, lambda n: torch.randn(n, 6)),
    'images': (Images, lambda n: torch.randn(n, 1, 10, 10)),
    'tokens': (Tokens, lambda n: torch.randint(0, 20, (n, 7))),
}


OP = onnxscript.opset18


@onnxscript.script()
def control(x, fc1_weight, fc1_bias, fc2_weight, fc2_bias, out_weight, out_bias):
    h = OP.Tanh(OP.Gemm(x, fc1_weight, fc1_bias, transB=1))
    h = OP.Tanh(OP.Add(OP.MatMul(h, OP.Transpose(fc2_weight, perm=[1, 0])), fc2_bias))
    return OP.Gemm(h, out_weight, out_bias, transB=1)


def write_by_hand(net, path):
    """The law of control. Its weights are inputs with initialisers, as files may have them."""
    model = control.to_model_proto(ir_version=9)
    weights = {name.replace('.', '_'): tensor.detach().numpy() for name, tensor in net.state_dict().items()}
    for value in list(model.graph.input) + list(model.graph.output):
        shape = weights[value.name].shape if value.name in weights else ('batch', 6)
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, onnx.TensorProto.FLOAT, shape))
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    onnx.checker.check_model(model)
    onnx.save(model, path)


def export(net, x, path, exporter):
    """Written for any size of the batch, in evaluation. Without optimisation the normalisation of the batch stays a node
    of its own."""
    if exporter == 'onnxscript':
        write_by_hand(net, path)
        return
    dynamic = {0: torch.export.Dim('batch')} if exporter == 'dynamo' else {0: 'batch'}
    if exporter == 'dynamo':
        torch.onnx.export(net, (x,), path, dynamo=True, dynamic_shapes=(dynamic,), external_data=False, verbose=False,
                          optimize=False)
    else:
        torch.onnx.export(net, (x,), path, dynamo=False, input_names=['x'], dynamic_axes={'x': dynamic},
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


class Side:
    """adze through ctypes."""

    def __init__(self, library, table, shelf):
        self.lib = Library(library, table, shelf)

    def tensor(self, t):
        kind = {torch.float32: self.lib.ADZ_F32, torch.int64: self.lib.ADZ_I64}[t.dtype]
        t = t.contiguous()
        return self.lib.adz_tensor_from(ctypes.c_void_p(t.data_ptr()), self.lib.shape(*t.shape), kind)

    def array(self, t):
        shape = self.lib.adz_tensor_shape(t)
        y = numpy.empty(list(shape.sizes)[:shape.rank], numpy.float32)
        t = self.lib.adz_contiguous(t)
        self.lib.adz_tensor_read(t, ctypes.c_void_p(y.ctypes.data), y.nbytes)
        return y

    def load(self, path, names):
        """The network of a file. Trained are the parameters of PyTorch's network, which the exporter may have renamed and
        turned, but not the single numbers that are constants of a formula."""
        lib = self.lib
        trains = lib.adz_onnx_trains(lambda name, weight, user: name.decode() in names or lib.adz_tensor_rank(
            ctypes.cast(weight, ctypes.POINTER(lib.types['adz_tensor']))) > 1)
        options = lib.options('adz_onnx_load_options', trains=trains)
        return lib.adz_onnx_load(str(path).encode(), ctypes.byref(options))


def losses_of_torch(net, batches):
    optimizer = torch.optim.SGD(net.parameters(), RATE, momentum=0.9)
    losses = []
    for x, target in batches:
        optimizer.zero_grad()
        loss = ((net(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_of_adze(side, net, batches):
    lib = side.lib
    options = lib.options('adz_sgd_options', momentum=0.9)
    optimizer = lib.adz_sgd_new(lib.adz_module_parameters(net), RATE, ctypes.byref(options))
    losses = []
    for x, target in batches:
        scope = lib.adz_scope_open()
        lib.adz_optimizer_zero_grad(optimizer)
        loss = lib.adz_mse_loss(lib.adz_module_forward(net, side.tensor(x)), side.tensor(target), lib.ADZ_REDUCE_MEAN)
        lib.adz_backward(loss)
        lib.adz_optimizer_step(optimizer)
        losses.append(lib.adz_item(loss))
        lib.adz_scope_close(scope)
    lib.adz_optimizer_release(ctypes.byref(ctypes.pointer(optimizer.contents)))
    return losses


def check(name, exporter, side, folder):
    torch.manual_seed(0)
    make, draw = NETWORKS[name]
    net = make().eval()
    with torch.no_grad(): # equal tensors, such as biases of zeros, would become one tensor of the file
        for p in list(net.parameters()) + [b for b in net.buffers() if b.is_floating_point()]:
            if p.dim() < 2:
                p.add_(0.1 * torch.rand_like(p))
    x = draw(4)
    path = folder / f'{name}_{exporter}.onnx'
    export(net, x, str(path), exporter)
    read = side.load(path, {n.replace('.', by) for n in net.state_dict() for by in '._'})
    path.unlink() # the module owns all it needs
    scope = side.lib.adz_scope_open()
    worst = abs(side.array(side.lib.adz_module_forward(read, side.tensor(x))) - net(x).detach().numpy()).max()
    side.lib.adz_scope_close(scope)
    batches = [(draw(8), torch.randn(net(draw(8)).shape))] * STEPS # a batch that can be learnt
    net.train()
    side.lib.adz_module_train(read, True)
    expected, got = losses_of_torch(net, batches), losses_of_adze(side, read, batches)
    apart = max(abs(a - b) for a, b in zip(expected, got))
    net.eval()
    side.lib.adz_module_eval(read)
    written = folder / 'written.onnx'
    scope = side.lib.adz_scope_open()
    side.lib.adz_module_write_onnx(read, side.tensor(x), str(written).encode(), None)
    mine = side.array(side.lib.adz_module_forward(read, side.tensor(x)))
    side.lib.adz_scope_close(scope)
    session = onnxruntime.InferenceSession(written)
    theirs = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    again = abs(mine - theirs).max()
    tuned = abs(mine - net(x).detach().numpy()).max()
    good = worst < 1e-5 and apart < TOLERANCE and again < 1e-5 and tuned < 1e-3 and expected[-1] < expected[0]
    print(f'{name} {exporter}: read {worst:.1e}, losses {apart:.1e} ({expected[0]:.3f} to {expected[-1]:.3f}), '
          f'tuned {tuned:.1e}, onnxruntime {again:.1e}{"" if good else "  FAILED"}')
    return good


def main():
    warnings.filterwarnings('ignore')
    logging.disable(logging.WARNING)
    side = Side(*sys.argv[1:4])
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            for exporter in ['script', 'dynamo'] + ['onnxscript'] * (name == 'control'):
                try:
                    good &= check(name, exporter, side, pathlib.Path(folder))
                except Failed as error:
                    print(f'{name} {exporter}: {error}  FAILED')
                    good = False
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
