#include "ops/order/searchsorted.kernel.h"

#include "ops/op.h"

/* Where values belong in sorted lanes, torch.searchsorted.
 *
 *     y = the number of elements e of the lane with e < value, or e <= value if `right`
 *
 * sorted[n] serves values of any shape. sorted[..., n] has a lane for each row of values[..., m]. y
 * is i64 and shaped like the values. Not differentiable, so nothing is saved. */

typedef struct {
    bool right;
} search_attr;

static const adz_field fields[] = { ADZI_FIELD(search_attr, right) };

/* Whether a comes before b, elementwise. NaN comes last. */
static adz_tensor *comes_before(adz_tensor *a, adz_tensor *b)
{
    adz_tensor *less = adz_lt(a, b);
    if (less == NULL || !adzi_is_float((adz_dtype)a->dtype)) {
        return less;
    }
    return adz_logical_or(less, adz_logical_and(adz_isnan(b), adz_logical_not(adz_isnan(a))));
}

/* The forward as an expression: each value is compared with all elements of its lane. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const search_attr *at = block;
    adz_tensor *values = adz_unsqueeze(in[1], -1);
    adz_tensor *lanes = in[0]->rank > 1 ? adz_unsqueeze(in[0], -2) : in[0];
    adz_tensor *before =
        at->right ? adz_logical_not(comes_before(values, lanes)) : comes_before(lanes, values);
    y[0] = adz_sum(adz_to(before, ADZ_I64), ADZ_DIMS(-1), ADZ_DROPDIM);
    return adzi_status(y[0]);
}

const adzi_op adzi_op_searchsorted = {
    .name = "searchsorted", ADZI_FIELDS(fields), .expression = expression
};

KERNEL_TABLE_ALL(searchsorted);
KERNEL_TABLE_ALL(search_ascends);

/* Checks dtypes and shapes. */
static bool check(adzi_call *call)
{
    const adz_tensor *sorted = call->in[0], *values = call->in[1];
    if (!adzi_want_computable(call, 0)) {
        return false;
    }
    if (sorted->dtype != values->dtype) {
        adzi_error("searchsorted", ADZ_ERR_DTYPE,
            "sorted is %s, values %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)sorted->dtype), adz_dtype_name((adz_dtype)values->dtype));
        return false;
    }
    bool fits = sorted->rank == 1 || (sorted->rank > 1 && sorted->rank == values->rank);
    for (int d = 0; d + 1 < sorted->rank && fits; ++d) {
        fits = sorted->sizes[d] == values->sizes[d];
    }
    if (!fits) {
        adzi_error("searchsorted", ADZ_ERR_SHAPE,
            "sorted%s does not fit values%s: it is a vector, or has their sizes but for the last dimension",
            adzi_text_shape(sorted), adzi_text_shape(values));
    }
    return fits;
}

/* What the host needs to report a lane that is not sorted. */
typedef struct {
    int64_t n; /* elements of a lane */
    const int64_t *bad;
} report_args;

ADZI_ADDRESSES(report_args, bad);

static adz_status report(const void *block)
{
    const report_args *args = block;
    return *args->bad < 0
               ? ADZ_OK
               : adzi_error("searchsorted", ADZ_ERR_ARGUMENT,
                     "element %lld of lane %lld of sorted is less than the one before it; sort the lanes with adz_sort, or their indices with adz_argsort",
                     (long long)(*args->bad % args->n), (long long)(*args->bad / args->n));
}

/* A search in a lane that is not sorted would find wrong positions. */
static bool ascends(const adz_tensor *sorted)
{
    const adz_tensor *bad = adzi_scratch("searchsorted", ADZ_I64, 0, NULL);
    if (bad == NULL) {
        return false;
    }
    if (sorted->numel == 0) {
        return true;
    }
    const int64_t n = sorted->sizes[sorted->rank - 1];
    const adzi_ascends_args args = { sorted->data, sorted->numel / n, n,
        (int64_t *)(void *)bad->data };
    adzi_launch(KERNEL_FOR(search_ascends, sorted->dtype), adzi_ascends_args, &args, 1, 1);
    const report_args shown = { n, args.bad };
    return adzi_repeat(report, report_args, &shown) == ADZ_OK;
}

adz_tensor *adz_searchsorted(adz_tensor *sorted, adz_tensor *values, bool right)
{
    adzi_call call;
    const search_attr attr = { right };
    if (!ADZI_ENTER(&call, searchsorted, sorted, values) || !check(&call)) {
        return NULL;
    }
    adz_tensor *lanes = adzi_compact("searchsorted", sorted);
    adz_tensor *wanted = adzi_compact("searchsorted", values);
    if (lanes == NULL || wanted == NULL || !ascends(lanes)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, ADZ_I64, values->rank, values->sizes);
    if (y == NULL || !adzi_record_nothing(&call, y, &attr, sizeof attr)) {
        return NULL;
    }
    if (lanes->numel == 0) {
        adzi_fill(y, 0);
    } else if (y->numel > 0) {
        const adzi_search_args args = { lanes->data, wanted->data, (int64_t *)(void *)y->data,
            lanes->sizes[lanes->rank - 1],
            lanes->rank > 1 ? wanted->sizes[wanted->rank - 1] : y->numel, right };
        adzi_launch(KERNEL_FOR(searchsorted, lanes->dtype), adzi_search_args, &args, y->numel,
            adzi_grain_of(ADZI_POINTWISE_GRAIN, 16));
    }
    return adzi_leave(&call, y);
}
