/* Reductions. */
#include <math.h>
#include <string.h>

#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/math.h"
#include "adze/ops/order.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "run.h"

typedef adz_tensor *(*reduction)(adz_tensor *x, adz_dims dims, bool keepdim);

static adz_tensor *sum_of_abs(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adz_sum(adz_abs(x), dims, keepdim);
}

static adz_tensor *sum_of_squares(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adz_sum(adz_square(x), dims, keepdim);
}

static adz_tensor *length(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adz_norm(x, 2, dims, keepdim);
}

static adz_tensor *log_of_sum(adz_tensor *x, adz_dims dims, bool keepdim)
{
    return adz_log(adz_sum(x, dims, keepdim));
}

static adz_tensor *same(adz_tensor *x)
{
    return x;
}

/* Each reduction, and what it gives of single elements, where a node reduces no dimension. */
static const struct row {
    const char *name;
    reduction run;
    adz_tensor *(*single)(adz_tensor *x);
} rows[] = {
    { "ReduceL1", sum_of_abs, adz_abs },
    { "ReduceL2", length, adz_abs },
    { "ReduceLogSum", log_of_sum, adz_log },
    { "ReduceLogSumExp", adz_logsumexp, same },
    { "ReduceMax", adz_amax, same },
    { "ReduceMean", adz_mean, same },
    { "ReduceMin", adz_amin, same },
    { "ReduceProd", adz_prod, same },
    { "ReduceSum", adz_sum, same },
    { "ReduceSumSquare", sum_of_squares, adz_square },
};

/* The largest or smallest of nothing: the end of the dtype's range. */
static adz_tensor *of_nothing(const adz_tensor *x, adz_dims dims, bool keep, bool largest)
{
    const adz_dtype dtype = adz_tensor_dtype(x);
    adz_shape shape = ADZ_SHAPE_SCALAR;
    unsigned named = dims.count < 0 ? ~0u : 0;
    for (int k = 0; k < dims.count; ++k) {
        named |= 1u << dims.dims[k];
    }
    for (int d = 0; d < adz_tensor_rank(x); ++d) {
        if ((named >> d & 1) == 0 || keep) {
            shape.sizes[shape.rank++] = (named >> d & 1) == 0 ? adz_tensor_size(x, d) : 1;
        }
    }
    const double least = dtype == ADZ_I32 ? INT32_MIN : dtype == ADZ_I64 ? -0x1p63 : 0;
    const double most = dtype == ADZ_I32 ? INT32_MAX : dtype == ADZ_U8 ? 255 : 1;
    if (dtype == ADZ_F32 || dtype == ADZ_F64) {
        return adz_full(shape, largest ? -INFINITY : INFINITY, dtype);
    }
    if (dtype == ADZ_I64 && !largest) {
        return adz_expand(
            adz_tensor_from((const int64_t[]){ INT64_MAX }, ADZ_SHAPE_SCALAR, ADZ_I64), shape);
    }
    return adz_full(shape, largest ? least : most, dtype);
}

/* Whether each element of the result is reduced from no elements. */
static bool takes_nothing(const adz_tensor *x, adz_dims dims)
{
    for (int k = 0; k < dims.count; ++k) {
        if (adz_tensor_size(x, dims.dims[k]) == 0) {
            return true;
        }
    }
    return dims.count < 0 && adz_tensor_numel(x) == 0;
}

/* Reductions of whole numbers keep their dtype; the library's sums of i32 are i64. */
static adz_tensor *reduce(
    const reader_call *call, adz_tensor *x, adz_dims dims, bool keep, reduction run)
{
    const adz_dtype dtype = adz_tensor_dtype(x);
    const bool of_floats = run == adz_mean || run == adz_logsumexp || run == log_of_sum;
    if (of_floats && dtype != ADZ_F32 && dtype != ADZ_F64) {
        return adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED,
            "means and logarithms of %s are not supported", adz_dtype_name(dtype));
    }
    if ((run == adz_amax || run == adz_amin) && takes_nothing(x, dims)) {
        if (call->run->model->values[call->node->inputs[0]].element == ELEMENT_INT8) {
            return adzi_reader_fail(
                call, ADZ_ERR_UNSUPPORTED, "reductions of no elements of int8 are not supported");
        }
        return of_nothing(x, dims, keep, run == adz_amax);
    }
    if (run == length && dtype != ADZ_F32 && dtype != ADZ_F64) {
        x = adz_to(x, ADZ_F64);
    }
    adz_tensor *y = run(x, dims, keep);
    return y != NULL && adz_tensor_dtype(y) != dtype ? adz_to(y, dtype) : y;
}

static adz_tensor *run_reduce(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const bool keep = adzi_reader_int(call, "keepdims", 1) != 0;
    adz_dims dims;
    if (x == NULL || !adzi_reader_dims(call, "axes", 1, adz_tensor_rank(x), &dims)) {
        return NULL;
    }
    const bool single = dims.count < 0 && adzi_reader_int(call, "noop_with_empty_axes", 0) != 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (strcmp(rows[i].name, call->node->type) == 0) {
            return single ? rows[i].single(x) : reduce(call, x, dims, keep, rows[i].run);
        }
    }
    return NULL;
}

/* The position of the largest or smallest element; the first one among equals, or the last. */
static adz_tensor *run_arg(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const bool keep = adzi_reader_int(call, "keepdims", 1) != 0;
    const bool last = adzi_reader_int(call, "select_last_index", 0) != 0;
    const bool largest = strcmp(call->node->type, "ArgMax") == 0;
    const int dim =
        x != NULL ? adzi_reader_dim(call, adzi_reader_int(call, "axis", 0), adz_tensor_rank(x))
                  : -1;
    if (dim < 0) {
        return NULL;
    }
    const adz_dims dims = adz_dims_of(1, &dim);
    const int64_t size = adz_tensor_size(x, dim);
    x = last ? adz_flip(x, dims) : x;
    adz_tensor *y = largest ? adz_argmax(x, dims, keep) : adz_argmin(x, dims, keep);
    return last ? adz_number_sub((double)(size - 1), y) : y;
}

/* clang-format off */
#define REDUCE(name) \
    { name, 6, 0, 1, 1, 1, "axes:I keepdims:i", 0, run_reduce, NULL, NULL, NULL }, \
    { name, 18, 0, 1, 2, 1, "keepdims:i noop_with_empty_axes:i", 2, run_reduce, NULL, NULL, NULL }
#define ARG(name) \
    { name, 6, 0, 1, 1, 1, "axis:i keepdims:i", ALL_FIXED, run_arg, NULL, NULL, NULL }, \
    { name, 12, 0, 1, 1, 1, "axis:i keepdims:i select_last_index:i", ALL_FIXED, run_arg, NULL, NULL, NULL }

const reader_operator adzi_reader_reductions[] = {
    ARG("ArgMax"),
    ARG("ArgMin"),
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    { "ReduceSum", 6, 0, 1, 1, 1, "axes:I keepdims:i", 0, run_reduce, NULL, NULL, NULL },
    { "ReduceSum", 13, 0, 1, 2, 1, "keepdims:i noop_with_empty_axes:i", 2, run_reduce, NULL, NULL, NULL },
    REDUCE("ReduceSumSquare"),
    { .name = NULL },
};
/* clang-format on */
