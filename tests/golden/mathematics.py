"""Reference vectors of functions, reductions, indices and linear algebra, for generate.py. `p` are the numbers of the
operator's test in tests/ops, whose matrices are made regular or definite as here."""

import torch
import torch.nn.functional as F

# Functions of one number, and where they are drawn.
FUNCTIONS = {
    "tan": "unit", "asin": "unit", "acos": "unit", "atan": "wide", "sinh": "wide", "cosh": "wide", "asinh": "wide",
    "atanh": "unit", "erfc": "wide", "lgamma": "wide", "digamma": "wide", "log2": "positive",
    "log10": "positive", "exp2": "wide", "floor": "wide", "ceil": "wide", "round": "wide", "trunc": "wide",
    "frac": "wide", "sign": "wide",
}
ACTIVATIONS = {"relu6": "wide", "hardswish": "wide", "mish": "wide", "softsign": "wide", "selu": "wide"}


def drawn(tools, where, *shape):
    numbers = torch.rand(*shape)
    value = {"unit": 1.8 * numbers - 0.9, "wide": 8 * numbers - 4, "positive": 0.1 + 3 * numbers}[where]
    return value.requires_grad_()


def functions(tools):
    op = tools.op
    for library, names in ((torch, FUNCTIONS), (F, ACTIVATIONS)):
        for name, where in names.items():
            op(name + "_plain", name, lambda where=where: {"x": drawn(tools, where, 2, 5)}, getattr(library, name))

    op("acosh_above", "acosh", lambda: {"x": drawn(tools, "positive", 2, 5)}, lambda x: torch.acosh(x + 1.5))

    def two(a="wide", b="wide"):
        return lambda: {"a": drawn(tools, a, 2, 1, 4), "b": drawn(tools, b, 3, 1)}
    for name in ("atan2", "copysign", "hypot", "logaddexp", "remainder", "fmod"):
        op(name + "_broadcast", name, two(), getattr(torch, name))
    op("lerp_of_tensors", "lerp",
       lambda: {key: drawn(tools, "wide", 3, 2) for key in ("start", "end", "weight")}, torch.lerp)
    op("lerp_by_number", "lerp", lambda: {key: drawn(tools, "wide", 3, 2) for key in ("start", "end")},
       lambda start, end: torch.lerp(start, end, 0.3), p=[1, 0.3])
    wide = lambda: {"x": drawn(tools, "wide", 3, 4)}
    op("hardtanh_bounds", "hardtanh", wide, lambda x: F.hardtanh(x, -0.5, 2), p=[-0.5, 2])
    op("celu_alpha", "celu", wide, lambda x: F.celu(x, 1.5), p=[1.5])
    op("prelu_channels", "prelu", lambda: {"x": drawn(tools, "wide", 2, 3, 2), "weight": drawn(tools, "unit", 3)},
       F.prelu)


def reductions(tools):
    op, leaf = tools.op, tools.leaf

    def x(*shape):
        return lambda: {"x": leaf(*shape)}
    op("cumprod_inner", "cumprod", x(3, 4), lambda x: x.cumprod(1), p=[1])
    op("median_rows", "median", x(3, 6), lambda x: dict(zip(("y", "y1"), x.median(1))), p=[1, 0])
    for k, rule in enumerate(("linear", "lower", "higher", "midpoint", "nearest")):
        op("quantile_" + rule, "quantile", x(3, 6),
           lambda x, rule=rule: x.quantile(0.3, dim=1, keepdim=True, interpolation=rule), p=[0.3, 1, 1, k])

    def with_gaps():
        t = torch.randn(3, 4)
        t[0, 1] = t[2, 3] = float("nan")
        return {"x": t.requires_grad_()}
    op("nanmean_rows", "nanmean", with_gaps, lambda x: x.nanmean(1), p=[1, 1])
    op("count_nonzero_rows", "count_nonzero", lambda: {"x": torch.tensor([[0., 2.], [0., 0.], [1., -1.]])},
       lambda x: x.count_nonzero(1), p=[1, 1])
    op("diff_twice", "diff", x(3, 5), lambda x: x.diff(2, 1), p=[2, 1])
    op("trapezoid_points", "trapezoid", lambda: {"y": leaf(3, 4), "x": torch.rand(4).cumsum(0).requires_grad_()},
       lambda y, x: torch.trapezoid(y, x, dim=1), p=[1, 1])
    op("trapezoid_distance", "trapezoid", lambda: {"y": leaf(3, 4)}, lambda y: torch.trapezoid(y, dx=0.5, dim=0),
       p=[0, 0, 0.5])


def indices(tools):
    op, leaf = tools.op, tools.leaf
    for right in (0, 1):
        op(f"searchsorted_right_{right}", "searchsorted",
           lambda: {"a": torch.tensor([[0., 1., 1., 2.], [1., 3., 5., 7.]]), "b": torch.tensor([[1., 3.], [3., 8.]])},
           lambda a, b, right=right: torch.searchsorted(a, b, right=bool(right)), p=[right])
    op("bincount_weights", "bincount", lambda: {"a": torch.tensor([3, 0, 3, 1]), "b": leaf(4)},
       lambda a, b: torch.stack([b[a == i].sum() for i in range(6)]), p=[1, 6])
    op("unique_numbers", "unique", lambda: {"x": torch.tensor([[3., 1.], [1., 2.]])},
       lambda x: dict(zip(("y", "y1", "y2"), x.unique(return_inverse=True, return_counts=True))))
    for add in (0, 1):
        op(f"index_put_add_{add}", "index_put",
           lambda: {"a": leaf(3, 4), "b": torch.tensor([0, 2, 1]), "c": torch.tensor([1, 3, 1]), "d": leaf(3)},
           lambda a, b, c, d, add=add: a.index_put((b, c), d, accumulate=bool(add)), p=[2, add])
    op("take_along_dim_broadcast", "take_along_dim",
       lambda: {"x": leaf(3, 4), "indices": torch.tensor([[3, 0]])},
       lambda x, indices: torch.take_along_dim(x, indices, 1), p=[1])
    op("diagonal_above", "diagonal", lambda: {"x": leaf(2, 3, 4)}, lambda x: x.diagonal(1, 0, 2), p=[1, 0, 2])
    op("diag_below", "diag", lambda: {"x": leaf(3)}, lambda x: x.diag(-1), p=[-1])
    for k, indexing in enumerate(("ij", "xy")):
        op("meshgrid_" + indexing, "meshgrid", lambda: {"a": leaf(2), "b": leaf(3)},
           lambda a, b, indexing=indexing: dict(zip(("y", "y1"), torch.meshgrid(a, b, indexing=indexing))), p=[k, 2])


def regular(a):
    return 0.5 * a + 4 * torch.eye(a.shape[-1])


def definite(a):
    return 0.5 * a @ a.transpose(-2, -1) + torch.eye(a.shape[-1])


def positive_columns(t):
    """The factors that make the largest element of each column of t positive."""
    t = t.detach()
    return t.gather(-2, t.abs().argmax(-2, keepdim=True)).sign()


def qr(a):
    q, r = torch.linalg.qr(a)
    signs = r.detach().diagonal(0, -2, -1).sign()
    return {"y": q * signs.unsqueeze(-2), "y1": r * signs.unsqueeze(-1)}


def eigh(a):
    n = a.shape[-1]
    w, v = torch.linalg.eigh(0.2 * (a + a.transpose(-2, -1)) + torch.diag(2 * torch.arange(n, dtype=a.dtype)))
    return {"y": w, "y1": v * positive_columns(v)}


def svd(a):
    m, n = a.shape[-2:]
    far = 2 * torch.arange(1, m + 1, dtype=a.dtype).unsqueeze(-1) * torch.eye(m, n)
    u, s, vh = torch.linalg.svd(0.2 * a + far, full_matrices=False)
    signs = positive_columns(u)
    return {"y": s, "y1": u * signs, "y2": vh * signs.transpose(-2, -1)}


def products(tools):
    op, leaf = tools.op, tools.leaf

    def two(a, b):
        return lambda: {"a": leaf(*a), "b": leaf(*b)}
    op("kron_matrices", "kron", two((2, 3), (3, 2)), torch.kron)
    op("cross_rows", "cross", two((2, 3), (2, 3)), lambda a, b: torch.cross(a, b, 1), p=[1])
    op("tensordot_two", "tensordot", two((2, 3, 4), (4, 3, 2)),
       lambda a, b: torch.tensordot(a, b, ([1, 2], [1, 0])), p=[2, 1, 2, 1, 0])
    op("trace_square", "trace", lambda: {"x": leaf(3, 3)}, torch.trace)


def decompositions(tools):
    op, leaf, linalg = tools.op, tools.leaf, torch.linalg

    def one(*shape):
        return lambda: {"a": leaf(*shape)}

    def two(a, b):
        return lambda: {"a": leaf(*a), "b": leaf(*b)}
    op("solve_columns", "solve", two((2, 3, 3), (3, 2)), lambda a, b: linalg.solve(regular(a), b.expand(2, 3, 2)))
    op("solve_triangular_upper", "solve_triangular", two((3, 3), (3, 2)),
       lambda a, b: linalg.solve_triangular(regular(a), b, upper=True), p=[1, 1, 0])
    op("cholesky_lower", "cholesky", one(2, 3, 3), lambda a: linalg.cholesky(definite(a)))
    op("cholesky_solve_lower", "cholesky_solve", two((3, 2), (3, 3)),
       lambda a, b: torch.cholesky_solve(a, regular(b).tril()), p=[0])
    op("inv_batch", "inv", one(2, 3, 3), lambda a: linalg.inv(regular(a)))
    op("det_batch", "det", one(2, 3, 3), linalg.det)
    op("slogdet_batch", "slogdet", one(2, 3, 3), lambda a: dict(zip(("y1", "y"), linalg.slogdet(a))))
    op("qr_batch", "qr", one(2, 4, 3), qr)
    op("eigh_batch", "eigh", one(2, 4, 4), eigh)
    op("svd_batch", "svd", one(2, 3, 4), svd)
    op("lstsq_tall", "lstsq", two((5, 3), (5, 2)), lambda a, b: linalg.pinv(a) @ b)
    op("pinv_wide", "pinv", one(2, 5), linalg.pinv, p=[-1, 0])
    op("matrix_exp_batch", "matrix_exp", one(2, 3, 3), linalg.matrix_exp)
    op("matrix_power_three", "matrix_power", one(3, 3), lambda a: linalg.matrix_power(0.25 * regular(a), 3), p=[3])
    op("matrix_rank_low", "matrix_rank", lambda: {"a": torch.tensor([[1., 2.], [2., 4.], [3., 6.]])},
       linalg.matrix_rank, p=[-1])


def mathematics(tools):
    for part in (functions, reductions, indices, products, decompositions):
        part(tools)
