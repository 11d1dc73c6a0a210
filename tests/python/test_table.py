#!/usr/bin/env python3
"""Trains a network through adze.json by ctypes, and compares what the table says with what the library does.

usage: test_table.py LIBADZE.so ADZE.json LIBADZE-ZOO.so LIBADZE-ONNX.so ...
"""
import ctypes
import sys

from adze_table import Failed, Library


def defaults_of(lib):
    """Every default in the table is what the struct's function fills in."""
    compared = 0
    for name, struct in lib.table['structs'].items():
        init = struct['init'] and lib.table['functions'][struct['init']]
        if not init or len(init['parameters']) != 2:
            continue
        made = lib.options(name)
        assert made.size == ctypes.sizeof(made), name
        for field in struct['fields']:
            value, default = getattr(made, field['name']), field.get('default')
            if isinstance(value, (bool, int, float)) and 'default' in field:
                default = getattr(lib, default) if isinstance(default, str) else default or 0
                assert value == default, (name, field['name'], value, default)
                compared += 1
            elif isinstance(value, bytes):
                value = ord(value) if isinstance(default, int) else value.decode()
                assert value == default, (name, field['name'], value, default)
    assert compared > 300, compared


def refused(lib):
    """A failure is an exception with the name of the status; the table names that status."""
    x = lib.adz_ones(lib.shape(2, 3), lib.ADZ_F32)
    try:
        lib.adz_matmul(x, x)
    except Failed as failure:
        assert str(failure).startswith('ADZ_ERR_SHAPE: '), failure
        assert 'ADZ_ERR_SHAPE' in lib.table['functions']['adz_matmul']['errors']
    else:
        raise AssertionError('a product of [2, 3] and [2, 3] is refused')


def owned(lib):
    functions = lib.table['functions']
    assert functions['adz_linear_new']['result']['ownership'] == 'caller'
    assert functions['adz_add']['result']['ownership'] == 'borrowed'
    assert functions['adz_item']['result']['ownership'] == 'none'
    modules = functions['adz_sequential_new']['parameters'][0]
    assert modules['taken'] and modules['length'] == 'count'


def trained(lib):
    """y = 2 x1 - x2 + 1, with a loss of the program's own, is found by a linear layer and L-BFGS."""
    rows = [(a / 3 - 1, b / 2 - 1) for a in range(6) for b in range(4)]
    flat = [number for row in rows for number in row]
    wanted = [2 * a - b + 1 for a, b in rows]
    x = lib.adz_tensor_from((ctypes.c_double * len(flat))(*flat), lib.shape(len(rows), 2), lib.ADZ_F64)
    y = lib.adz_tensor_from((ctypes.c_double * len(rows))(*wanted), lib.shape(len(rows), 1), lib.ADZ_F64)
    net = lib.adz_linear_new(2, 1, lib.options('adz_linear_options', dtype=lib.ADZ_F64))
    optimizer = lib.adz_lbfgs_new(lib.adz_module_parameters(net), 1.0, None)

    @lib.adz_optimizer_closure
    def closure(_):
        lib.adz_optimizer_zero_grad(optimizer)
        error = lib.adz_sub(lib.adz_module_forward(net, x), y)
        loss = lib.adz_sum(lib.adz_square(error), lib.adz_dims_of(0, None), False)
        lib.adz_backward(loss)
        return ctypes.cast(loss, ctypes.c_void_p).value

    loss = ctypes.c_double()
    for _ in range(3):
        lib.adz_optimizer_step_closure(optimizer, ctypes.cast(closure, ctypes.c_void_p), None, loss)
    weight = lib.adz_module_get_parameter(net, b'weight')
    found = [lib.adz_tensor_at(weight, (ctypes.c_int64 * 2)(0, i)) for i in range(2)]
    assert abs(found[0] - 2) < 1e-6 and abs(found[1] + 1) < 1e-6, found
    module, trainer = net, optimizer
    lib.adz_optimizer_release(trainer)
    lib.adz_module_release(module)


def zoo(lib):
    """Functions of libadze-zoo are in the table, and work on objects of libadze."""
    assert lib.table['functions']['adz_gpt2_model_new']['library'] == 'adze-zoo'
    module = lib.adz_gpt2_conv1d_new(3, 2, None)
    assert lib.adz_tensor_shape(lib.adz_module_forward(module, lib.adz_ones(lib.shape(4, 2), lib.ADZ_F32))).sizes[1] == 3
    lib.adz_module_release(module)


def main():
    lib = Library(*sys.argv[1:])
    assert lib.adz_version().decode() == lib.table['version']
    scope = lib.adz_scope_open()
    for test in (defaults_of, refused, owned, trained, zoo):
        test(lib)
        print(f'{test.__name__}: ok')
    lib.adz_scope_close(scope)


if __name__ == '__main__':
    main()
