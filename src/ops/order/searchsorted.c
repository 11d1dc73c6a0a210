#include "ops/order/searchsorted.kernel.h"

#include "ops/op.h"

/* Where values belong in sorted slices, torch.searchsorted.
 *
 *     y = the number of elements e of the slice with e < value, or e <= value if `right`
 *
 * sorted[n] serves values of any shape. sorted[..., n] has a slice for each row of values[..., m].
 * y is i64 and shaped like the values. Not differentiable, so nothing is saved. */

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

/* The forward as an expression: each value is compared with all elements of its slice. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const search_attr *at = block;
    adz_tensor *values = adz_unsqueeze(in[1], -1);
    adz_tensor *slices = in[0]->rank > 1 ? adz_unsqueeze(in[0], -2) : in[0];
    adz_tensor *before =
        at->right ? adz_logical_not(comes_before(values, slices)) : comes_before(slices, values);
    y[0] = adz_sum(adz_to(before, ADZ_I64), ADZ_DIMS(-1), ADZ_DROPDIM);
    return adzi_status(y[0]);
}

KERNEL_TABLE_ALL(searchsorted);
KERNEL_TABLE_ALL(search_ascends);

/* The result has the shape of the values. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const adz_tensor *sorted = in[0], *values = in[1];
    (void)block;
    if (sorted->dtype != values->dtype) {
        return adzi_error("searchsorted", ADZ_ERR_DTYPE,
            "sorted is %s, values %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)sorted->dtype), adz_dtype_name((adz_dtype)values->dtype));
    }
    bool fits = sorted->rank == 1 || (sorted->rank > 1 && sorted->rank == values->rank);
    for (int d = 0; d + 1 < sorted->rank && fits; ++d) {
        fits = sorted->sizes[d] == values->sizes[d];
    }
    if (!fits) {
        return adzi_error("searchsorted", ADZ_ERR_SHAPE,
            "sorted%s does not fit values%s: it is a vector, or has their sizes but for the last dimension",
            adzi_text_shape(sorted), adzi_text_shape(values));
    }
    y->dtype = ADZ_I64;
    adzi_form_like(y, values);
    return ADZ_OK;
}

/* What the host needs to report a slice that is not sorted. */
typedef struct {
    int64_t n; /* elements of a slice */
    const int64_t *bad;
} report_args;

ADZI_ADDRESSES(report_args, bad);

static adz_status report(const void *block)
{
    const report_args *args = block;
    return *args->bad < 0
               ? ADZ_OK
               : adzi_error("searchsorted", ADZ_ERR_ARGUMENT,
                     "element %lld of slice %lld of sorted is less than the one before it; sort the slices with adz_sort, or their indices with adz_argsort",
                     (long long)(*args->bad % args->n), (long long)(*args->bad / args->n));
}

/* A search in a slice that is not sorted would find wrong positions. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const adz_tensor *sorted = in[0], *bad = adzi_scratch("searchsorted", ADZ_I64, 0, NULL);
    (void)call, (void)y, (void)block;
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

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adz_tensor *slices = in[0], *wanted = in[1];
    if (slices->numel == 0) {
        adzi_fill(y[0], 0);
    } else if (y[0]->numel > 0) {
        const adzi_search_args args = { slices->data, wanted->data, (int64_t *)(void *)y[0]->data,
            slices->sizes[slices->rank - 1],
            slices->rank > 1 ? wanted->sizes[wanted->rank - 1] : y[0]->numel,
            ((const search_attr *)block)->right };
        adzi_launch(KERNEL_FOR(searchsorted, slices->dtype), adzi_search_args, &args, y[0]->numel,
            adzi_grain_of(ADZI_POINTWISE_GRAIN, 16));
    }
}

const adzi_op adzi_op_searchsorted = { .name = "searchsorted",
    ADZI_ATTRIBUTES(search_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

adz_tensor *adz_searchsorted(adz_tensor *sorted, adz_tensor *values, bool right)
{
    static const adzi_steps steps = { .prepare = prepare, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_searchsorted, steps, &(search_attr){ right }, sorted, values);
}
