#include "ops/order/unique.h"

/* The subtensors that differ from the one before them, torch.unique_consecutive with dim. A
 * composition: each of them begins a group of unique.c. */

/* Whether each subtensor differs from the one before it, the first one does. */
static adz_tensor *beginnings(adz_tensor *x, int dim, int64_t n)
{
    adz_tensor *parts[] = { adz_ones(ADZ_SHAPE(n > 0 ? 1 : 0), ADZ_BOOL), NULL };
    if (n < 2) {
        return parts[0];
    }
    adz_tensor *differs = adz_ne(adz_narrow(x, dim, 1, n - 1), adz_narrow(x, dim, 0, n - 1));
    adz_dims others = { .count = 0 };
    for (int d = 0; d < x->rank; ++d) {
        if (d != dim) {
            others.dims[others.count++] = d;
        }
    }
    parts[1] = others.count > 0 ? adz_any(differs, others, ADZ_DROPDIM) : differs;
    return parts[0] != NULL && parts[1] != NULL ? adz_cat(parts, 2, 0) : NULL;
}

adz_tensor *adz_unique_consecutive_dim(
    adz_tensor *x, int dim, adz_tensor **inverse, adz_tensor **counts)
{
    ADZI_COMPOSED();
    static const char op[] = "unique_consecutive_dim";
    if (!adzi_unique_begin(op, x, inverse, counts)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    if (x->rank == 0 || (x->numel == 0 && x->sizes[d] > 0)) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            x->rank == 0
                ? "x%s has no dimension; adz_unique_consecutive takes any shape"
                : "the subtensors of x%s along a dimension that is not empty have no elements to compare",
            adzi_text_shape(x));
    }
    const int64_t n = x->sizes[d];
    /* Groups are found in the order of x, which a sort would change. The comparison has no
     * gradient. */
    adz_tensor *order = adz_arange(0, (double)n, 1, ADZ_I64);
    adz_tensor *plain = order != NULL ? adz_detach(x) : NULL;
    adz_tensor *begins = plain != NULL ? beginnings(plain, d, n) : NULL;
    return adzi_unique_groups(x, d, order, begins, ADZ_SHAPE(n), inverse, counts);
}
