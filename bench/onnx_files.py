#!/usr/bin/env python3
"""Real networks from ONNX files: adze's numbers and times against onnxruntime's.

    onnx_files.py LIBADZE.so ADZE.json LIBADZE-ONNX.so [--only NAME,...] [--threads 1,2] [--rounds 9] [--no-times]

The files are those of packages: magika's file typer, the three networks of rapidocr-onnxruntime, ddddocr's
detector and reader, and faster-whisper's voice detector. Each is run at several sizes of its free dimensions; a
result may differ from onnxruntime's by 1e-4. Then a captured run and onnxruntime take turns, and a row has the
shortest time of each in milliseconds, the ratio of both, and the median of the ratios of neighbours.
What is not installed is left out; without onnxruntime or any file the program ends with 77.
"""
import argparse
import ctypes
import importlib.util
import pathlib
import statistics
import sys
import time

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tests/python'))
from adze_table import Library  # noqa: E402

CLOSE = 1e-4


def images(*shapes):
    return lambda random: [[random.standard_normal(s).astype(np.float32)] for s in shapes]


def magika(random):
    return [[random.integers(0, 257, (n, 2048)).astype(np.int32)] for n in (1, 3, 8)]


def voice(random):
    return [[(0.1 * random.standard_normal(s)).astype(np.float32) for s in ((n, 576), (1, 1, 128), (1, 1, 128))]
            for n in (1, 4, 31)]


FILES = {
    'magika': ('magika', 'models/standard_v3_3/model.onnx', magika),
    'ppocr-direction': ('rapidocr_onnxruntime', 'models/ch_ppocr_mobile_v2.0_cls_infer.onnx',
                        images((1, 3, 48, 192), (2, 3, 48, 192), (6, 3, 48, 192))),
    'ppocr-reader': ('rapidocr_onnxruntime', 'models/ch_PP-OCRv4_rec_infer.onnx',
                     images((1, 3, 48, 320), (2, 3, 48, 160), (3, 3, 48, 480))),
    'ppocr-detector': ('rapidocr_onnxruntime', 'models/ch_PP-OCRv4_det_infer.onnx',
                       images((1, 3, 320, 320), (2, 3, 160, 96), (1, 3, 640, 480))),
    'ddddocr-detector': ('ddddocr', 'common_det.onnx', images((1, 3, 416, 416))),
    'ddddocr-reader': ('ddddocr', 'common.onnx', images((1, 1, 64, 64), (1, 1, 64, 160), (1, 1, 64, 200))),
    'silero-vad': ('faster_whisper', 'assets/silero_vad_v6.onnx', voice),
}


def path_of(package, file):
    found = importlib.util.find_spec(package)
    path = pathlib.Path(found.origin).parent / file if found is not None else None
    return path if path is not None and path.exists() else None


class Network:
    """A file that adze has loaded, captured at one size of its inputs."""

    def __init__(self, lib, path, inputs):
        self.lib = lib
        dtypes = {np.dtype(np.float32): lib.ADZ_F32, np.dtype(np.int32): lib.ADZ_I32}
        self.scope = lib.adz_scope_open()
        self.module = lib.adz_onnx_load(str(path).encode(), None)
        self.inputs = [lib.adz_tensor_from(x.ctypes.data, lib.shape(*x.shape), dtypes[x.dtype]) for x in inputs]
        self.count = lib.adz_onnx_output_count(self.module)
        self.function = lib.adz_plan_results_function(self.compute)
        grad = lib.adz_set_grad_enabled(False)
        # As onnxruntime does, the plan puts the weights into the order of its products once.
        options = lib.options('adz_plan_options', module=self.module, pack_weights=True)
        self.plan = lib.adz_plan_new_many(
            ctypes.cast(self.function, ctypes.c_void_p), None, self.count, ctypes.byref(options))
        lib.adz_set_grad_enabled(grad)
        self.outputs = []
        for i in range(self.count):
            t = lib.adz_plan_result_at(self.plan, i)
            shape = lib.adz_tensor_shape(t)
            kinds = {lib.ADZ_F32: np.float32, lib.ADZ_I64: np.int64, lib.ADZ_I32: np.int32}
            self.outputs.append(np.empty(list(shape.sizes)[:shape.rank], kinds[lib.adz_tensor_dtype(t)]))

    def compute(self, results, _):
        given, taken = self.lib.adz_values_new(), self.lib.adz_values_new()
        for x in self.inputs:
            self.lib.adz_values_add(given, b'', x)
        self.lib.adz_module_call(self.module, given, taken)
        for i in range(self.count):
            results[i] = self.lib.adz_values_at(taken, i)
        self.lib.adz_values_free(given)
        self.lib.adz_values_free(taken)
        return self.lib.ADZ_OK

    def run(self, inputs):
        for t, x in zip(self.inputs, inputs):
            self.lib.adz_tensor_write(t, x.ctypes.data, x.nbytes)
        self.lib.adz_plan_run(self.plan)
        for i, y in enumerate(self.outputs):
            self.lib.adz_tensor_read(self.lib.adz_plan_result_at(self.plan, i), y.ctypes.data, y.nbytes)
        return self.outputs

    def close(self):
        self.lib.adz_plan_free(self.plan)
        self.lib.adz_module_release(self.module)
        self.lib.adz_scope_close(self.scope)


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry('session.intra_op.allow_spinning', '1' if threads > 1 else '0')
    return onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])


def timed(run, least=0.03):
    """Seconds for one call: the shortest of some, after one that warms up."""
    run()
    best, spent = float('inf'), 0
    while spent < least:
        begin = time.perf_counter()
        run()
        seconds = time.perf_counter() - begin
        best, spent = min(best, seconds), spent + seconds
    return best


def compare(lib, name, path, inputs, threads, options):
    """Prints a row; the difference of the results."""
    lib.adz_set_num_threads(threads)
    peer = session(path, threads)
    named = {i.name: x for i, x in zip(peer.get_inputs(), inputs)}
    network = Network(lib, path, inputs)
    wanted, found = peer.run(None, named), network.run(inputs)
    worst = float(np.max([np.abs(a.astype(np.float64) - b).max() if a.shape == b.shape else float('inf')
                          for a, b in zip(wanted, found)]))  # NaN if a result is
    row = f"{name:17} {str(list(inputs[0].shape)):19} {threads} threads  difference {worst:.1e}"
    if not options.no_times:
        ours, theirs = [], []
        for _ in range(options.rounds):
            theirs.append(timed(lambda: peer.run(None, named)))
            time.sleep(0.01)  # its threads wait in loops for a while
            ours.append(timed(lambda: network.run(inputs)))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        row += f'  adze {1e3 * min(ours):8.3f} ms  onnxruntime {1e3 * min(theirs):8.3f} ms' \
               f'  {min(ours) / min(theirs):5.2f}  median {ratio:5.2f}'
    print(row, flush=True)
    network.close()
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('libraries', nargs=3)
    parser.add_argument('--only', default=','.join(FILES))
    parser.add_argument('--threads', default='1,2')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--no-times', action='store_true')
    options = parser.parse_args()
    lib = Library(*options.libraries)
    compared, wrong = 0, 0
    for name in options.only.split(','):
        package, file, cases = FILES[name]
        path = path_of(package, file)
        if path is None:
            print(f'{name:17} is not installed (package {package})')
            continue
        for inputs in cases(np.random.default_rng(1)):
            for threads in options.threads.split(','):
                compared += 1
                wrong += not compare(lib, name, path, inputs, int(threads), options) <= CLOSE  # NaN is wrong
    print(f'{compared} comparisons, {wrong} beyond {CLOSE}')
    return 77 if compared == 0 else wrong > 0


if __name__ == '__main__':
    sys.exit(main())
