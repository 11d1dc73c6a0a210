/* Nodes of extremes and of norms, and where the batch goes in reductions. */
#include <math.h>
#include <string.h>

#include "export/onnx.h"

adzi_onnx_printer adzi_onnx_print_arg, adzi_onnx_print_extreme, adzi_onnx_print_extreme_only,
    adzi_onnx_print_norm;
adzi_onnx_batch_rule adzi_onnx_batch_reduced;

/* Reduces `x` to the name `y`. Axes are an input of ReduceSum and an attribute of the others. No
 * axes mean all of them to ONNX, so that case is an Identity. */
static void reduce_to(adzi_onnx *g, const char *type, const char *x, const char *y)
{
    int64_t dims[ADZ_MAX_RANK];
    const size_t n = adzi_onnx_list(g, "dim", dims, ADZ_MAX_RANK);
    const int64_t keep = adzi_onnx_attr_whole(g, "keepdim");
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

/* The position along one dimension, or among all elements, which are then seen as one dimension. */
static void position_to(adzi_onnx *g, const char *type, const char *x, int k, const char *y)
{
    int64_t dims[ADZ_MAX_RANK] = { 0 }, all = -1;
    const size_t n = adzi_onnx_list(g, "dim", dims, ADZ_MAX_RANK);
    const adzi_traced_value *result = adzi_onnx_result(g, k);
    if (n == 1) {
        adzi_onnx_node(g, type, ADZI_NAMES(x), ADZI_NAMES(y),
            ADZI_ATTRS(ADZI_ATTR_INT("axis", dims[0]),
                ADZI_ATTR_INT("keepdims", adzi_onnx_attr_whole(g, "keepdim"))));
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
    const double p = adzi_onnx_attr_number(g, "p");
    const adz_dtype dtype = adzi_onnx_input(g, 0)->dtype;
    const char *x = adzi_onnx_in(g, 0), *y = adzi_onnx_out(g, 0);
    int64_t dims[ADZ_MAX_RANK];
    if (p != 0 && adzi_onnx_list(g, "dim", dims, ADZ_MAX_RANK) == 0) {
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
bool adzi_onnx_batch_reduced(const adzi_onnx *g)
{
    const unsigned mask = (unsigned)adzi_onnx_attr_whole(g, "dim");
    int axis = adzi_onnx_batch_in(g, 0)->axis;
    if (axis >= 0 && (mask & (1u << axis))) {
        return false;
    }
    for (int d = axis - 1; d >= 0 && !adzi_onnx_attr_whole(g, "keepdim"); --d) {
        axis -= (int)(mask >> d & 1u);
    }
    return adzi_onnx_batch_to(g, axis);
}
