"""What the ONNX files of the sweep over operators compute, as onnx_check.py runs it: onnx.checker accepts them,
onnxruntime loads them, and its results are the library's for drawn and for special contents."""

import os
import subprocess
import tempfile

# Contents in which onnxruntime computes something else than the file says, or adds in another order. A content has
# these properties: "nan" and "inf"; "large" for a finite number above 1e4; "small" for one below 1e-30 that is not 0;
# "mid" for a number above 80; "bigint" for an integer above 1e6.
RECURRENT = "the gates' arguments are bounded and their functions are approximations"
POOLS = "the maximum begins with the smallest finite number, and NaN is skipped"
SUMS = "terms that are infinite, huge or cancel are added and multiplied in another order"
WHOLE = "sums and products of integers are computed in floating point"
CONVERTED = "a number that the integer dtype does not hold has no defined conversion"
ANY = {"nan", "inf", "large", "small", "mid"}
DIFFERENCES = [
    (("gru", "gru_layer", "lstm", "lstm_layer", "rnn", "rnn_layer"), ANY, RECURRENT),
    (("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
      "lp_pool1d", "lp_pool2d", "lp_pool3d"), {"nan", "inf"}, POOLS),
    (("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "addcmul", "addmm", "avg_pool1d", "avg_pool2d",
      "avg_pool3d", "batch_norm",
      "binary_cross_entropy", "binary_cross_entropy_with_logits", "bmm", "categorical_log_prob", "cdist", "conv1d",
      "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
      "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "einsum",
      "forget_mult", "group_norm", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
      "linear", "linear_recurrence", "linear_relu", "log_softmax", "logsumexp", "matmul", "mean", "mse_loss",
      "nll_loss", "norm", "normalize", "poisson_nll_loss", "prod", "rms_norm", "scaled_dot_product_attention",
      "scatter_add", "smooth_l1_loss", "std", "sum", "cumsum", "triplet_margin_loss", "var"), ANY - {"small"}, SUMS),
    (("addcmul", "addmm", "bmm", "cdist", "einsum", "matmul", "prod", "sum", "nansum", "vecdot", "trace", "cumsum", "copy"), {"bigint"}, WHOLE),
    (("copy", "to"), {"nan", "inf", "large"}, CONVERTED),
]
# Nodes of f64 that a file may have although onnxruntime does not run them.
LACKS_DOUBLE = ("NOT_IMPLEMENTED", "does not support double")


def properties(arrays):
    import numpy
    found = set()
    for x in arrays:
        if x.dtype.kind == "f":
            f = x.astype("f8")
            size = numpy.abs(f[numpy.isfinite(f)])
            tests = {"nan": numpy.isnan(f), "inf": numpy.isinf(f), "large": size > 1e4,
                     "small": (size > 0) & (size < 1e-30), "mid": size > 80}
            found |= {name for name, where in tests.items() if where.any()}
        elif x.dtype.kind in "iu" and x.size and (numpy.abs(x.astype("f8")) > 1e6).any():
            found.add("bigint")
    return found


def explained(op, result, found):
    """Whether a difference of these contents is one of onnxruntime's."""
    whole = op == "prod" and result.dtype.kind in "iu"
    return whole or any(op in ops and found & reasons for ops, reasons, _ in DIFFERENCES)


def largest_of(arrays, kinds):
    """The largest number below 1e6 among the arrays of these kinds of dtype, or 0."""
    import numpy
    sizes = [numpy.abs(x.astype("f8")).ravel() for x in arrays if x.dtype.kind in kinds]
    return max((float(s[s < 1e6].max(initial=0)) for s in sizes), default=0.0)


def wrong_elements(op, expected, got, unit, inputs):
    import numpy
    if expected.dtype.kind in "iub":
        return expected != got
    x, y = expected.astype("f8"), got.astype("f8")
    finite = numpy.isfinite(x) & numpy.isfinite(y)
    # ONNX has no erfc and no sinc. 1 - Erf(x) cancels for integers as it does for floats. The sine of a multiple of
    # the rounded pi is not 0, but its error grows as the multiple does, by which sinc divides.
    largest = 1 if op == "sinc" else largest_of([expected, *inputs], "fiub" if op == "erfc" else "f")
    near = numpy.abs(x - y) <= unit * (numpy.abs(x) + largest) + 1e-30
    return ~numpy.where(finite, near, (numpy.isnan(x) & numpy.isnan(y)) | (x == y))


def compare(op, expected, got, inputs):
    """The text of a difference, or None."""
    import numpy
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return f"{got.dtype} {got.shape} instead of {expected.dtype} {expected.shape}"
    single = any(x.dtype == numpy.float32 for x in inputs)
    unit = 1e-3 if expected.dtype == numpy.float16 else 1e-5 if single or expected.dtype == numpy.float32 else 1e-12
    wrong = wrong_elements(op, expected, got, unit, inputs)
    if not wrong.any() or explained(op, expected, properties(inputs)):
        return None
    pairs = zip(expected[wrong].ravel()[:3], got[wrong].ravel()[:3])
    return (", ".join(f"{b!r} instead of {a!r}" for a, b in pairs) + " for " +
            " ".join(str(x.ravel()[:5]) for x in inputs))


def check_file(path, op, n_inputs, read_safetensors):
    """The number of contents that were compared, and the text of a fault or None."""
    import onnx
    import onnxruntime
    onnx.checker.check_model(onnx.load(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    tensors = read_safetensors(path[:-len(".onnx")] + ".safetensors")
    wide = any(t.dtype.name == "float64" for t in tensors.values())
    compared = 0
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        for k in range(1000):
            inputs = [tensors.get(f"{k}.{i}") for i in range(n_inputs)]
            expected = tensors.get(f"{k}.y")
            if expected is None or any(x is None for x in inputs):
                continue
            fault = compare(op, expected, session.run(None, dict(zip(names, inputs)))[0], inputs)
            if fault:
                return compared, f"contents {k}: {fault}"
            compared += 1
    except Exception as error:  # onnxruntime has no common class
        if not (wide and any(text in str(error) for text in LACKS_DOUBLE)):
            raise
    return compared, None


def check_operators(program, read_safetensors):
    """Runs the program test_onnx_sweep and compares what it writes. Returns the number of faults."""
    faults = files = contents = 0
    with tempfile.TemporaryDirectory() as folder:
        written = subprocess.run([program, "--write", folder], cwd=folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        if written.returncode != 0:
            print(f"{program} failed")
            return 1
        with open(os.path.join(folder, "list"), encoding="utf-8") as stream:
            lines = [line.rstrip("\n").split("\t") for line in stream]
        for number, n_inputs, text in lines:
            path = os.path.join(folder, f"{number}.onnx")
            if number == "-":
                continue
            try:
                compared, fault = check_file(path, text.split(",")[0], int(n_inputs), read_safetensors)
                contents += compared
            except Exception as error:  # whatever the packages raise is a finding
                fault = str(error).strip().replace("\n", " ")[:400]
            files += 1
            if fault:
                faults += 1
                print(f"{text}: {fault}", flush=True)
    print(f"{files} files of operators, {contents} contents compared, {faults} faults")
    return faults + (files == 0)
