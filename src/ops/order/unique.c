#include "ops/order/unique.h"

#include "ops/index/nonzero.h"

/* The distinct elements in ascending order, torch.unique.
 *
 *     y[k] = the k-th smallest value,   x[i] = y[inverse[i]],   counts[k] = elements equal to y[k]
 *
 * A composition: the elements are sorted, and each that differs from the one before it begins a
 * group. The host reads the number of groups, because it makes the results. So a plan or an export
 * cannot contain the call. */

/* The positions in `sorted`[n] at which a group begins. */
static adz_tensor *beginnings(adz_tensor *sorted, int64_t n)
{
    adz_tensor *parts[] = { adz_ones(ADZ_SHAPE(n > 0 ? 1 : 0), ADZ_BOOL), NULL };
    if (n > 1) {
        parts[1] = adz_ne(adz_narrow(sorted, 0, 1, n - 1), adz_narrow(sorted, 0, 0, n - 1));
    }
    return n > 1 ? adz_cat(parts, 2, 0) : parts[0];
}

/* The number of its group for each subtensor. */
static adz_tensor *numbers_of(adz_tensor *begins, adz_tensor *order, adz_shape shape)
{
    adz_tensor *number = adz_sub_number(adz_cumsum(adz_to(begins, ADZ_I64), 0), 1);
    adz_tensor *zeros = adz_zeros(adz_tensor_shape(order), ADZ_I64);
    return adz_reshape(adz_scatter_add(zeros, 0, order, number), shape);
}

/* The sizes of the groups that begin at these positions of n subtensors. */
static adz_tensor *sizes_of(adz_tensor *at, int64_t n)
{
    adz_tensor *parts[] = { at, adz_full(ADZ_SHAPE(1), (double)n, ADZ_I64) };
    return adz_diff(adz_cat(parts, 2, 0), 1, 0);
}

adz_tensor *adzi_unique_groups(adz_tensor *x, int dim, adz_tensor *order, adz_tensor *begins,
    adz_shape shape, adz_tensor **inverse, adz_tensor **counts)
{
    adz_tensor *number = NULL, *size = NULL, *hits = begins != NULL ? adz_nonzero(begins) : NULL;
    if (hits == NULL) {
        return NULL;
    }
    adz_tensor *at = adz_reshape(hits, ADZ_SHAPE(hits->sizes[0]));
    adz_tensor *y = adz_index_select(x, dim, adz_index_select(order, 0, at));
    if (y == NULL || (inverse != NULL && (number = numbers_of(begins, order, shape)) == NULL) ||
        (counts != NULL && (size = sizes_of(at, order->numel)) == NULL)) {
        return NULL;
    }
    if (inverse != NULL) {
        *inverse = number;
    }
    if (counts != NULL) {
        *counts = size;
    }
    return y;
}

bool adzi_unique_begin(const char *op, adz_tensor *x, adz_tensor **inverse, adz_tensor **counts)
{
    if (inverse != NULL) {
        *inverse = NULL;
    }
    if (counts != NULL) {
        *counts = NULL;
    }
    if (!adzi_check_tensor(op, "x", x) || !adzi_elements_decide(op, x)) {
        return false;
    }
    if (adzi_is_half((adz_dtype)x->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, which is for storage; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    return true;
}

adz_tensor *adz_unique(adz_tensor *x, adz_tensor **inverse, adz_tensor **counts)
{
    ADZI_COMPOSED();
    adz_tensor *order = NULL;
    if (!adzi_unique_begin("unique", x, inverse, counts)) {
        return NULL;
    }
    const int64_t n = x->numel;
    adz_tensor *flat = adz_reshape(x, ADZ_SHAPE(n));
    adz_tensor *sorted = flat != NULL ? adz_sort(adz_detach(flat), 0, false, &order) : NULL;
    adz_tensor *begins = sorted != NULL ? beginnings(sorted, n) : NULL;
    return adzi_unique_groups(flat, 0, order, begins, adz_tensor_shape(x), inverse, counts);
}
