/* Printers of reductions, of operators along one dimension, and of matrix products. */
#include <math.h>
#include <string.h>

#include "export/onnx.h"

static int64_t whole(const adzi_onnx *g, const char *name)
{
    return adzi_attr_whole(g->call->op, g->call->attr, name);
}

/* ---- reductions ----------------------------------------------------------------------------- */

/* The reduced dimensions, from the mask "dim". */
static size_t dims_of(const adzi_onnx *g, int64_t *dims)
{
    const unsigned mask = (unsigned)whole(g, "dim");
    size_t n = 0;
    for (int d = 0; d < adzi_onnx_input(g, 0)->rank; ++d) {
        if (mask & (1u << d)) {
            dims[n++] = d;
        }
    }
    return n;
}

/* Reduces `x` to the name `y`. Axes are an input of ReduceSum and an attribute of the others. No
 * axes mean all of them to ONNX, so that case is an Identity. */
static void reduce_to(adzi_onnx *g, const char *type, const char *x, const char *y)
{
    int64_t dims[ADZ_MAX_RANK];
    const size_t n = dims_of(g, dims);
    const int64_t keep = whole(g, "keepdim");
    if (n == 0) {
        adzi_onnx_node(g, "Identity", ADZI_NAMES(x), ADZI_NAMES(y), ADZI_NO_ATTRS);
    } else if (strcmp(type, "ReduceSum") == 0) {
        adzi_onnx_node(g, type, ADZI_NAMES(x, adzi_onnx_ints(g, dims, n)), ADZI_NAMES(y),
            ADZI_ATTRS(ADZI_ATTR_INT("keepdims", keep)));
    } else {
        adzi_onnx_node(g, type, ADZI_NAMES(x), ADZI_NAMES(y),
            ADZI_ATTRS(ADZI_ATTR_INTS("axes", dims, n), ADZI_ATTR_INT("keepdims", keep)));
    }
}

/* Sums of integers are i64. */
bool adzi_onnx_print_reduce(adzi_onnx *g)
{
    const adz_dtype from = adzi_onnx_input(g, 0)->dtype, to = adzi_onnx_result(g, 0)->dtype;
    reduce_to(
        g, adzi_onnx_type(g), adzi_onnx_cast(g, adzi_onnx_in(g, 0), from, to), adzi_onnx_out(g, 0));
    return !g->failed;
}

/* all and any: the least of 0 and 1, and whether their sum is above 0, also of no elements. */
bool adzi_onnx_print_truth(adzi_onnx *g)
{
    const adz_dtype from = adzi_onnx_input(g, 0)->dtype;
    const char *flags = adzi_onnx_cast(g, adzi_onnx_in(g, 0), from, ADZ_BOOL);
    const char *x = adzi_onnx_cast(g, flags, ADZ_BOOL, ADZ_I32), *y = adzi_onnx_temporary(g);
    if (y != NULL) {
        reduce_to(g, adzi_onnx_type(g), x, y);
    }
    const adz_dtype to = adzi_onnx_result(g, 0)->dtype;
    if (to != ADZ_BOOL) { /* The result of u8 is 0 or 1, and not the sum. */
        y = adzi_onnx_cast(g, y, ADZ_I32, ADZ_BOOL);
    }
    adzi_onnx_cast_to(g, y, adzi_onnx_out(g, 0), to);
    return !g->failed;
}

/* The position along one dimension, or among all elements, which are then seen as one dimension. */
static void position_to(adzi_onnx *g, const char *type, const char *x, int k, const char *y)
{
    int64_t dims[ADZ_MAX_RANK] = { 0 }, all = -1;
    const size_t n = dims_of(g, dims);
    const adzi_traced_value *result = adzi_onnx_result(g, k);
    if (n == 1) {
        adzi_onnx_node(g, type, ADZI_NAMES(x), ADZI_NAMES(y),
            ADZI_ATTRS(
                ADZI_ATTR_INT("axis", dims[0]), ADZI_ATTR_INT("keepdims", whole(g, "keepdim"))));
        return;
    }
    const char *flat = adzi_onnx_step(g, "Reshape", x, adzi_onnx_ints(g, &all, 1));
    const char *found = adzi_onnx_temporary(g);
    adzi_onnx_node(g, type, ADZI_NAMES(flat), ADZI_NAMES(found),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", 0), ADZI_ATTR_INT("keepdims", 0)));
    adzi_onnx_node(g, "Reshape",
        ADZI_NAMES(found, adzi_onnx_ints(g, result->sizes, (size_t)result->rank)), ADZI_NAMES(y),
        ADZI_NO_ATTRS);
}

/* 1 where x is NaN, and 0 elsewhere. */
static const char *nan_marks(adzi_onnx *g)
{
    return adzi_onnx_cast(
        g, adzi_onnx_step(g, "IsNaN", adzi_onnx_in(g, 0), NULL), ADZ_BOOL, ADZ_I32);
}

/* Whether some element that is reduced is NaN, by the marks. */
static const char *has_nan(adzi_onnx *g, const char *marks)
{
    const char *most = adzi_onnx_temporary(g);
    reduce_to(g, "ReduceMax", marks, most);
    return adzi_onnx_cast(g, most, ADZ_I32, ADZ_BOOL);
}

static bool is_float(const adzi_onnx *g)
{
    return adzi_is_float(adzi_onnx_input(g, 0)->dtype);
}

/* The largest or smallest element. NaN counts as both in the library; runtimes skip it. */
static void extreme_to(adzi_onnx *g, const char *type, const char *x, const char *y)
{
    if (!is_float(g)) {
        reduce_to(g, type, x, y);
        return;
    }
    const char *found = adzi_onnx_temporary(g), *nan = has_nan(g, nan_marks(g));
    const char *number = adzi_onnx_number(g, adzi_onnx_input(g, 0)->dtype, (double)NAN);
    reduce_to(g, type, x, found);
    adzi_onnx_node(g, "Where", ADZI_NAMES(nan, number, found), ADZI_NAMES(y), ADZI_NO_ATTRS);
}

/* Its position, which is that of the first NaN if there is one. */
static void extreme_position_to(adzi_onnx *g, const char *type, int k)
{
    const char *y = adzi_onnx_out(g, k);
    if (!is_float(g)) {
        position_to(g, type, adzi_onnx_in(g, 0), k, y);
        return;
    }
    const char *marks = nan_marks(g), *nan = has_nan(g, marks);
    const char *found = adzi_onnx_temporary(g), *first = adzi_onnx_temporary(g);
    position_to(g, type, adzi_onnx_in(g, 0), k, found);
    position_to(g, "ArgMax", marks, k, first);
    adzi_onnx_node(g, "Where", ADZI_NAMES(nan, first, found), ADZI_NAMES(y), ADZI_NO_ATTRS);
}

bool adzi_onnx_print_arg(adzi_onnx *g)
{
    extreme_position_to(g, adzi_onnx_type(g), 0);
    return !g->failed;
}

bool adzi_onnx_print_extreme_only(adzi_onnx *g)
{
    extreme_to(g, adzi_onnx_type(g), adzi_onnx_in(g, 0), adzi_onnx_out(g, 0));
    return !g->failed;
}

/* max and min have a second result if they run along one dimension. */
bool adzi_onnx_print_extreme(adzi_onnx *g)
{
    if (adzi_onnx_result(g, 0)->used) {
        extreme_to(g, adzi_onnx_type(g), adzi_onnx_in(g, 0), adzi_onnx_out(g, 0));
    }
    if (g->call->n_out > 1 && adzi_onnx_result(g, 1)->used) {
        extreme_position_to(g, g->call->row->onnx.second, 1);
    }
    return !g->failed;
}

/* (sum |x|^p)^(1/p), and its limits. p = 0 counts the elements that are not 0. */
bool adzi_onnx_print_norm(adzi_onnx *g)
{
    const double p = adzi_attr_number(g->call->op, g->call->attr, "p");
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const char *x = adzi_onnx_in(g, 0), *y = adzi_onnx_out(g, 0);
    int64_t dims[ADZ_MAX_RANK];
    if (p != 0 && dims_of(g, dims) == 0) {
        adzi_onnx_node(g, "Abs", ADZI_NAMES(x), ADZI_NAMES(y), ADZI_NO_ATTRS);
        return !g->failed;
    }
    if (p == 1 || p == 2) {
        reduce_to(g, p == 1 ? "ReduceL1" : "ReduceL2", x, y);
        return !g->failed;
    }
    if (p == 0) {
        const char *zero = adzi_onnx_step(g, "Equal", x, adzi_onnx_number(g, dtype, 0));
        const char *counted = adzi_onnx_step(g, "Not", zero, NULL);
        reduce_to(g, "ReduceSum", adzi_onnx_cast(g, counted, ADZ_BOOL, dtype), y);
        return !g->failed;
    }
    const char *size = adzi_onnx_step(g, "Abs", x, NULL);
    if (isinf(p)) {
        extreme_to(g, p > 0 ? "ReduceMax" : "ReduceMin", size, y);
        return !g->failed;
    }
    const char *powers = adzi_onnx_step(g, "Pow", size, adzi_onnx_number(g, dtype, p));
    const char *sum = adzi_onnx_temporary(g);
    if (sum != NULL) {
        reduce_to(g, "ReduceSum", powers, sum);
    }
    adzi_onnx_node(
        g, "Pow", ADZI_NAMES(sum, adzi_onnx_number(g, dtype, 1 / p)), ADZI_NAMES(y), ADZI_NO_ATTRS);
    return !g->failed;
}

/* The batch must not be reduced: means over it were traced with its size. */
bool adzi_onnx_carry_reduced(const adzi_onnx *g)
{
    const unsigned mask = (unsigned)whole(g, "dim");
    adzi_onnx_batch b = *adzi_onnx_batch_in(g, 0);
    if (b.axis >= 0 && (mask & (1u << b.axis))) {
        return false;
    }
    const int axis = b.axis;
    for (int d = 0; d < axis && !whole(g, "keepdim"); ++d) {
        b.axis -= (int)(mask >> d & 1u);
    }
    for (int k = 0; k < g->call->n_out; ++k) {
        *adzi_onnx_batch_out(g, k) = b;
    }
    return true;
}

/* ---- along one dimension -------------------------------------------------------------------- */

bool adzi_onnx_print_along(adzi_onnx *g)
{
    /* A scalar has one element, and a dimension for this node. */
    const adzi_traced_value *x = adzi_onnx_input(g, 0);
    if (x->rank == 0) {
        return adzi_onnx_refuse(g, "of a scalar has no counterpart in ONNX");
    }
    adzi_onnx_node(g, adzi_onnx_type(g), ADZI_NAMES(adzi_onnx_in(g, 0)),
        ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_ATTRS(ADZI_ATTR_INT("axis", whole(g, "dim"))));
    return !g->failed;
}

bool adzi_onnx_print_cumsum(adzi_onnx *g)
{
    const adz_dtype from = adzi_onnx_input(g, 0)->dtype, to = adzi_onnx_result(g, 0)->dtype;
    const char *x = adzi_onnx_cast(g, adzi_onnx_in(g, 0), from, to);
    if (adzi_onnx_input(g, 0)->rank == 0) {
        return adzi_onnx_refuse(g, "of a scalar has no counterpart in ONNX");
    }
    adzi_onnx_node(g, "CumSum",
        ADZI_NAMES(x, adzi_onnx_number(g, ADZ_I64, (double)whole(g, "dim"))),
        ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_ATTRS(ADZI_ATTR_INT("reverse", whole(g, "reverse"))));
    return !g->failed;
}

bool adzi_onnx_print_topk(adzi_onnx *g)
{
    const int64_t k = whole(g, "k");
    if (adzi_onnx_input(g, 0)->rank == 0) {
        return adzi_onnx_refuse(g, "of a scalar has no counterpart in ONNX");
    }
    adzi_onnx_node(g, "TopK", ADZI_NAMES(adzi_onnx_in(g, 0), adzi_onnx_ints(g, &k, 1)),
        ADZI_NAMES(adzi_onnx_out(g, 0), adzi_onnx_out(g, 1)),
        ADZI_ATTRS(ADZI_ATTR_INT("axis", whole(g, "dim")),
            ADZI_ATTR_INT("largest", whole(g, "largest")), ADZI_ATTR_INT("sorted", 1)));
    return !g->failed;
}

/* ---- products ------------------------------------------------------------------------------- */

/* The transposed last two dimensions of input i. */
static const char *turned(adzi_onnx *g, int i)
{
    const int rank = adzi_onnx_input(g, i)->rank;
    int64_t perm[ADZ_MAX_RANK] = { 0 };
    for (int d = 0; d < rank; ++d) {
        perm[d] = d < rank - 2 ? d : d == rank - 2 ? rank - 1 : rank - 2;
    }
    const char *y = adzi_onnx_temporary(g);
    adzi_onnx_node(g, "Transpose", ADZI_NAMES(adzi_onnx_in(g, i)), ADZI_NAMES(y),
        ADZI_ATTRS(ADZI_ATTR_INTS("perm", perm, (size_t)rank)));
    return y;
}

bool adzi_onnx_print_matmul(adzi_onnx *g)
{
    const char *a = whole(g, "transpose_a") ? turned(g, 0) : adzi_onnx_in(g, 0);
    const char *b = whole(g, "transpose_b") ? turned(g, 1) : adzi_onnx_in(g, 1);
    adzi_onnx_node(g, "MatMul", ADZI_NAMES(a, b), ADZI_NAMES(adzi_onnx_out(g, 0)), ADZI_NO_ATTRS);
    return !g->failed;
}

/* The dimension of the product that a batch dimension of an operand becomes: a leading one, that of
 * the rows of a or that of the columns of b; -1 if it is summed over. */
static int dimension_in_product(const adzi_onnx *g, int i)
{
    const adzi_onnx_batch b = *adzi_onnx_batch_in(g, i);
    const int rank = adzi_onnx_input(g, i)->rank, to = adzi_onnx_result(g, 0)->rank;
    const bool turned_over = whole(g, i == 0 ? "transpose_a" : "transpose_b") != 0;
    int axis = b.axis;
    if (turned_over && axis >= rank - 2) {
        axis = axis == rank - 2 ? rank - 1 : rank - 2;
    }
    const int summed = i == 0 ? rank - 1 : rank - 2;
    return axis == summed ? -1 : axis + (to - rank);
}

/* Operands with batch dimensions both have them in one dimension of the product. */
bool adzi_onnx_carry_matmul(const adzi_onnx *g)
{
    adzi_onnx_batch y = { -1, 0, 0 };
    for (int i = 0; i < 2; ++i) {
        adzi_onnx_batch b = *adzi_onnx_batch_in(g, i);
        if (b.axis < 0) {
            continue;
        }
        if (adzi_onnx_input(g, 0)->rank < 2 || adzi_onnx_input(g, 1)->rank < 2) {
            return false;
        }
        b.axis = dimension_in_product(g, i);
        if (b.axis < 0 ||
            (y.axis >= 0 && (y.axis != b.axis || y.before != b.before || y.after != b.after ||
                                b.axis >= adzi_onnx_result(g, 0)->rank - 2))) {
            return false;
        }
        y = b;
    }
    /* An operand without the batch broadcasts in this dimension. */
    for (int i = 0; i < 2 && y.axis >= 0; ++i) {
        const adzi_traced_value *x = adzi_onnx_input(g, i);
        const int axis = y.axis - (adzi_onnx_result(g, 0)->rank - x->rank);
        if (adzi_onnx_batch_in(g, i)->axis < 0 && axis >= 0 && axis < x->rank - 2 &&
            x->sizes[axis] != 1) {
            return false;
        }
    }
    *adzi_onnx_batch_out(g, 0) = y;
    return true;
}

/* x W^T + b: Gemm for a matrix x, else MatMul and Add. */
bool adzi_onnx_print_linear(adzi_onnx *g)
{
    const char *y = adzi_onnx_out(g, 0);
    const bool biased = g->call->in[2] >= 0;
    if (adzi_onnx_input(g, 0)->rank == 2 && adzi_is_float(adzi_onnx_input(g, 0)->dtype)) {
        const char *in[] = { adzi_onnx_in(g, 0), adzi_onnx_in(g, 1), adzi_onnx_in(g, 2) };
        adzi_onnx_node(g, "Gemm", (adzi_onnx_names){ in, biased ? 3 : 2 }, ADZI_NAMES(y),
            ADZI_ATTRS(ADZI_ATTR_INT("transB", 1)));
        return !g->failed;
    }
    const char *product = biased ? adzi_onnx_temporary(g) : y;
    adzi_onnx_node(g, "MatMul", ADZI_NAMES(adzi_onnx_in(g, 0), turned(g, 1)), ADZI_NAMES(product),
        ADZI_NO_ATTRS);
    if (biased) {
        adzi_onnx_node(
            g, "Add", ADZI_NAMES(product, adzi_onnx_in(g, 2)), ADZI_NAMES(y), ADZI_NO_ATTRS);
    }
    return !g->failed;
}

/* The last dimension of x is summed over. */
bool adzi_onnx_carry_linear(const adzi_onnx *g)
{
    return adzi_onnx_batch_in(g, 0)->axis < adzi_onnx_input(g, 0)->rank - 1 &&
           adzi_onnx_carry_first(g);
}
