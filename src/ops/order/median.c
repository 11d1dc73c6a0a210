#include "ops/op.h"

/* The middle element along a dimension, torch.median: the lower one of two. A composition: the
 * slices are sorted, and NaN comes last, so that a slice has a NaN if its last element is one. */
adz_tensor *adz_median(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices)
{
    ADZI_COMPOSED();
    static const char op[] = "median";
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
    const int64_t n = x->rank > 0 ? x->sizes[d] : 1;
    if (n == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "dimension %d of x%s is empty and has no middle", d,
            adzi_text_shape(x));
    }
    adz_tensor *order = NULL, *sorted = adz_sort(adz_detach(x), d, false, &order);
    if (sorted == NULL) {
        return NULL;
    }
    adz_tensor *at = order;
    if (x->rank > 0) {
        const int64_t middle = (n - 1) / 2;
        adz_tensor *last = adz_isnan(adz_narrow(sorted, d, n - 1, 1));
        at = adz_where(last, adz_narrow(order, d, n - 1, 1), adz_narrow(order, d, middle, 1));
    }
    adz_tensor *y = x->rank > 0 ? adz_gather(x, d, at) : adz_clone(x);
    if (!keepdim && x->rank > 0) {
        y = adz_squeeze(y, d);
        at = adz_squeeze(at, d);
    }
    if (indices != NULL) {
        *indices = y != NULL ? at : NULL;
    }
    return at != NULL ? y : NULL;
}
