"""Capture of a step: a function is captured once as a list of kernel launches and then run again without Python."""
from . import _adze


class Plan:
    """A function that was captured. Call it, or run(), for one more step; write other contents into its tensors before.

    The function is called without arguments, and only when it is captured. Between captures the calls of the library
    that it made run again; Python code between them does not.
    """

    def __init__(self, function, *, results=1, inputs=None, input_names=None, module=None, result_names=None,
                 pack_weights=False, restore=False):
        from .nn.layers import handle_of
        self._handle = _adze.plan_new(function, results, inputs, input_names,
                                      None if module is None else handle_of(module), result_names, pack_weights,
                                      restore)
        self._results = results

    def run(self):
        """Runs the function once more."""
        _adze.plan_run(self._handle)

    def run_batches(self, data, *, order=None, drop_last=False):
        """Runs the function once for each batch of a set of data: an epoch of training steps in one call.

        `data` has a tensor [N, ...] for each of the plan's `inputs` [B, ...], in their order, or None for an input that
        stays as it is. `order`, such as adze.randperm(N), says in which order batches take the rows. With drop_last,
        rows that fill no batch are left out. Gives the result of all batches, [S, ...], or a tuple of several.
        """
        made = _adze.plan_run_batches(self._handle, data, order, drop_last)
        return made[0] if self._results == 1 else tuple(made)

    @property
    def output(self):
        """The result of the last run, or a tuple of several. Clone it to keep its contents."""
        made = [_adze.plan_result_at(self._handle, i) for i in range(self._results)]
        return made[0] if self._results == 1 else tuple(made)

    def __call__(self):
        _adze.plan_run(self._handle)
        return self.output

    @property
    def info(self):
        """What the plan consists of: a dictionary."""
        return _adze.plan_get_info(self._handle)

    def write_c(self, path, **options):
        """Writes the function as a program in C that needs no library (docs/export.md)."""
        _adze.plan_write_c(self._handle, path, **options)

    def write_onnx(self, path, **options):
        """Writes the function as an ONNX file (docs/onnx.md)."""
        _adze.plan_write_onnx(self._handle, path, **options)


def capture(function, **options):
    """Makes a Plan of a function, which is called once. docs/python.md says which functions can be captured."""
    return Plan(function, **options)
