"""adze's linear algebra for Python: tensors of f64 and f32 from NumPy's arrays, by ctypes."""

import contextlib
import ctypes

import numpy

F32, F64 = 0, 1
RANK = 8


class Shape(ctypes.Structure):
    _fields_ = [('rank', ctypes.c_int), ('sizes', ctypes.c_int64 * RANK)]


class Adze:
    """libadze, loaded from a file."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ('adz_scope_open', 'adz_tensor_from', 'adz_tensor_data', 'adz_contiguous',
                     'adz_solve', 'adz_solve_triangular', 'adz_cholesky', 'adz_inv', 'adz_qr',
                     'adz_lstsq', 'adz_eigh', 'adz_pinv', 'adz_matrix_exp', 'adz_det',
                     'adz_cholesky_solve', 'adz_matrix_power', 'adz_requires_grad_', 'adz_square'):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.lib.adz_matrix_power.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        self.lib.adz_pinv.argtypes = [ctypes.c_void_p, ctypes.c_double]
        self.lib.adz_autograd_grad.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
                                               ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self.lib.adz_error_message.restype = ctypes.c_char_p
        self.lib.adz_tensor_shape.restype = Shape

    @contextlib.contextmanager
    def scope(self):
        """Tensors that are made inside are released at the end."""
        scope = ctypes.c_void_p(self.lib.adz_scope_open())
        try:
            yield
        finally:
            self.lib.adz_scope_close(scope)

    def tensor(self, array):
        """A copy of the array: f32 if the array is, else f64."""
        single = numpy.asarray(array).dtype == numpy.float32
        array = numpy.ascontiguousarray(array, dtype=numpy.float32 if single else numpy.float64)
        shape = Shape(array.ndim, (ctypes.c_int64 * RANK)(*array.shape))
        return self._made(self.lib.adz_tensor_from(array.ctypes.data_as(ctypes.c_void_p), shape, F32 if single else F64))

    def array(self, tensor):
        tensor = self._made(self.lib.adz_contiguous(tensor))
        shape = self.lib.adz_tensor_shape(tensor)
        sizes = tuple(shape.sizes[:shape.rank])
        count = int(numpy.prod(sizes, dtype=numpy.int64))
        if count == 0:
            return numpy.zeros(sizes)
        data = ctypes.cast(self.lib.adz_tensor_data(tensor), ctypes.POINTER(ctypes.c_double))
        return numpy.ctypeslib.as_array(data, shape=(count,)).copy().reshape(sizes)

    def call(self, name, *arguments, more=0):
        """The result of adz_NAME and those that it hands out by pointers, as tensors. svd and slogdet hand out all."""
        others = [ctypes.c_void_p() for _ in range(more)]
        first = getattr(self.lib, 'adz_' + name)(*arguments, *map(ctypes.byref, others))
        if name in ('svd', 'slogdet'):
            self._made(first == 0)
            return others
        first = self._made(first)
        return [first, *others] if more else first

    def gradients(self, outputs, weights, inputs):
        """The gradients of sum(weight * output) over all outputs by the inputs, as arrays."""
        def pointers(tensors):
            return (ctypes.c_void_p * len(tensors))(*[t.value for t in tensors])

        got = (ctypes.c_void_p * len(inputs))()
        if self.lib.adz_autograd_grad(pointers(outputs), pointers(weights), len(outputs), pointers(inputs),
                                      len(inputs), None, got) != 0:
            raise ValueError(self.lib.adz_error_message().decode())
        return [self.array(ctypes.c_void_p(g)) for g in got]

    def _made(self, pointer):
        if not pointer:
            raise ValueError(self.lib.adz_error_message().decode())
        return ctypes.c_void_p(pointer)
