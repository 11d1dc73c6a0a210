#include "ops/cumulative/running_extreme.h"

#include "ops/slices.h"

/* The index of the largest or smallest element so far, of which cummax and cummin are compositions.
 *
 *     y_i = the largest j <= i for which x_j is NaN, or else x_j = max(x_0, ..., x_i)
 *
 * Without a gradient: cummax reads x at these indices. */

KERNEL_TABLE_ALL(largest_so_far);
KERNEL_TABLE_ALL(smallest_so_far);

typedef struct {
    int dim;
    bool smallest;
} running_attr;

static const adz_field fields[] = { ADZI_FIELD(running_attr, dim),
    ADZI_FIELD(running_attr, smallest) };

/* Whether an element stays in spite of one before it. */
static adz_tensor *stays(adz_tensor *x, adz_tensor *before, bool smallest)
{
    adz_tensor *better = smallest ? adz_le(x, before) : adz_ge(x, before);
    return adzi_is_float((adz_dtype)x->dtype) ? adz_logical_or(better, adz_isnan(x)) : better;
}

/* The forward as an expression: after the round with distance s each element knows the best of 2 s
 * elements. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const running_attr *at = block;
    adz_tensor *x = in[0];
    adz_shape along = { .rank = x->rank };
    for (int d = 0; d < x->rank; ++d) {
        along.sizes[d] = d == at->dim ? x->sizes[d] : 1;
    }
    const int64_t n = x->rank > 0 ? x->sizes[at->dim] : 1;
    adz_tensor *index = adz_reshape(adz_arange(0, (double)n, 1, ADZ_I64), along);
    index = adz_clone(adz_expand(index, adz_tensor_shape(x)));
    adz_tensor *best = x;
    for (int64_t s = 1; s < n && index != NULL; s *= 2) {
        adz_tensor *late = adz_narrow(best, at->dim, s, n - s);
        adz_tensor *early = adz_narrow(best, at->dim, 0, n - s);
        adz_tensor *keep = late != NULL && early != NULL ? stays(late, early, at->smallest) : NULL;
        adz_tensor *parts[2] = { adz_narrow(index, at->dim, 0, s) };
        parts[1] = adz_where(
            keep, adz_narrow(index, at->dim, s, n - s), adz_narrow(index, at->dim, 0, n - s));
        index = adz_cat(parts, 2, at->dim);
        best = adz_gather(x, at->dim, index);
    }
    y[0] = index;
    return adzi_status(y[0]);
}

/* Indices are i64 for every dtype of x, in x's shape. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)in, (void)block;
    y->dtype = ADZ_I64;
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const running_attr *at = block;
    adzi_slices_run(at->smallest ? KERNEL_FOR(smallest_so_far, in[0]->dtype)
                                 : KERNEL_FOR(largest_so_far, in[0]->dtype),
        y[0], 1, in, at->dim);
}

static const adzi_op adzi_op_running_extreme = { .name = "running_extreme",
    .expression = expression,
    ADZI_ATTRIBUTES(running_attr, fields),
    .shape_rule = shape_rule,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

/* Calls the operator; dim is 0 .. rank-1. */
static adz_tensor *running_extreme(adz_tensor *x, int dim, bool smallest)
{
    return ADZI_RUN(running_extreme, launch, (&(running_attr){ dim, smallest }), x);
}

/* The elements are read by gather, whose backward adds the gradients of equal indices up. */
adz_tensor *adzi_extreme_so_far(
    const char *op, adz_tensor *x, int dim, bool smallest, adz_tensor **indices)
{
    if (indices != NULL) {
        *indices = NULL;
    }
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    if (adzi_is_half((adz_dtype)x->dtype)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "x is %s, which is for storage; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    adz_tensor *found = running_extreme(adz_detach(x), d, smallest);
    adz_tensor *y = found != NULL ? adz_gather(x, d, found) : NULL;
    if (indices != NULL) {
        *indices = y != NULL ? found : NULL;
    }
    return y;
}
