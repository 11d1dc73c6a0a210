#include "ops/order/quantile.h"

#include <math.h>

#include "base/capture.h"

/* Several quantiles along a dimension, torch.quantile with a tensor q. A composition: the positions
 * are computed by operators, so that replays and exported files take q as an input. */

/* What the host needs to report a q out of range. */
typedef struct {
    const bool *inside;
    const void *q;
    int64_t n;
    int64_t single; /* q is f32 */
} report_args;

ADZI_ADDRESSES(report_args, inside, q);

static adz_status report(const void *block)
{
    const report_args *args = block;
    for (int64_t i = 0; i < args->n; ++i) {
        if (!args->inside[i]) {
            const double q =
                args->single ? (double)((const float *)args->q)[i] : ((const double *)args->q)[i];
            return adzi_error("quantiles", ADZ_ERR_ARGUMENT,
                "q[%lld] is %s, but must be from 0 to 1", (long long)i, adzi_text_number(q));
        }
    }
    return ADZ_OK;
}

/* True where q is from 0 to 1. Any other element is an error, except in exported files, which check
 * nothing: they need the mask. */
static adz_tensor *inside_of(adz_tensor *q)
{
    adz_tensor *inside = adz_logical_and(adz_ge_number(q, 0), adz_le_number(q, 1));
    const adz_tensor *mask = inside != NULL ? adzi_compact("quantiles", inside) : NULL;
    const adz_tensor *own = mask != NULL ? adzi_compact("quantiles", q) : NULL;
    if (own == NULL) {
        return NULL;
    }
    const report_args shown = { (const bool *)(const void *)mask->data, own->data, own->numel,
        q->dtype == ADZ_F32 };
    return adzi_repeat(report, report_args, &shown) == ADZ_OK ? inside : NULL;
}

static bool check(const adz_tensor *x, const adz_tensor *q)
{
    if (!adzi_check_tensor("quantiles", "q", q)) {
        return false;
    }
    if (q->dtype != x->dtype) {
        adzi_error("quantiles", ADZ_ERR_DTYPE, "q is %s, x %s; convert q with adz_to",
            adz_dtype_name((adz_dtype)q->dtype), adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    if (q->rank > 1) {
        adzi_error("quantiles", ADZ_ERR_SHAPE, "q%s is neither a number nor a vector; flatten it",
            adzi_text_shape(q));
        return false;
    }
    return true;
}

/* Whole positions as indices, at most n - 1, above which single precision may round them. */
static adz_tensor *indices_of(const adzi_rounding *rounding, adz_tensor *position, int64_t n)
{
    adz_tensor *at = adz_to(rounding->tensor(adz_detach(position)), ADZ_I64);
    return adz_clamp(at, 0, (double)(n - 1));
}

/* The quantiles in the slices' dimension: y[..., K, ...]. */
static adz_tensor *along(
    adz_tensor *x, adz_tensor *q, int dim, const adzi_quantile_method *method, adz_tensor *inside)
{
    const int64_t n = x->sizes[dim];
    adz_shape column = { .rank = x->rank - dim }; /* [K, 1, ...], as slices broadcast */
    for (int d = 0; d < column.rank; ++d) {
        column.sizes[d] = d == 0 ? q->numel : 1;
    }
    /* A position that is no number would be no index. */
    adz_tensor *wide = adzi_quantile_in_single(x, n) ? q : adz_to(q, ADZ_F64);
    adz_tensor *position =
        adz_where(inside, adz_mul_number(wide, (double)(n - 1)), adz_zeros_like(wide));
    adz_tensor *sorted = adz_sort(x, dim, false, NULL), *high = NULL, *weight = NULL;
    adz_tensor *at = indices_of(method->low, position, n);
    adz_tensor *low = adz_index_select(sorted, dim, at);
    if (method->high != NULL) {
        high = adz_index_select(sorted, dim, indices_of(method->high, position, n));
        weight = method->middle ? adz_full_like(q, 0.5)
                                : adz_sub(position, adz_to(at, adz_tensor_dtype(position)));
        weight = adz_to(adz_reshape(weight, column), (adz_dtype)x->dtype);
        if (high == NULL || weight == NULL) {
            return NULL;
        }
    }
    adz_tensor *y = adzi_quantile_between(sorted, dim, low, high, weight);
    return adz_masked_fill(y, adz_reshape(adz_logical_not(inside), column), (double)NAN);
}

/* Several quantiles, which become the first dimension of the result. */
adz_tensor *adz_quantiles(
    adz_tensor *x, adz_tensor *q, int dim, bool keepdim, adz_quantile_rule rule)
{
    ADZI_COMPOSED();
    const adzi_quantile_method *method = adzi_quantile_check("quantiles", x, rule, &dim);
    if (method == NULL || !check(x, q)) {
        return NULL;
    }
    adz_tensor *flat = adz_reshape(q, ADZ_SHAPE(q->numel));
    adz_tensor *inside = flat != NULL ? inside_of(flat) : NULL;
    adz_tensor *slices = x->rank > 0 ? x : adz_reshape(x, ADZ_SHAPE(1));
    if (inside == NULL || slices == NULL) {
        return NULL;
    }
    adz_tensor *y = along(slices, flat, dim, method, inside);
    if (x->rank > 0) {
        y = adz_transpose(adz_unsqueeze(y, 0), 0, dim + 1); /* K comes first */
        y = keepdim ? y : adz_squeeze(y, dim + 1);
    }
    return q->rank > 0 ? y : adz_squeeze(y, 0);
}
