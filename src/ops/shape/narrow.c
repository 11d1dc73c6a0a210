#include "ops/op.h"

/* A range of a dimension that must exist, torch.narrow: y = x[start .. start+length-1] along dim.
 * Unlike a slice it does not clamp, but refuses a range outside x. y is a view. It is a
 * composition: slice records the node, whose gradient is dy among zeros. */
adz_tensor *adz_narrow(adz_tensor *x, int dim, int64_t start, int64_t length)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("narrow", "x", x)) {
        return NULL;
    }
    if (x->rank == 0) {
        return adzi_fail("narrow", ADZ_ERR_DIM, "a scalar cannot be narrowed");
    }
    int d = adzi_dim("narrow", x, dim);
    if (d < 0) {
        return NULL;
    }
    /* A negative start counts from the end. */
    int64_t size = x->sizes[d], first = start < 0 ? start + size : start;
    /* The length is compared with what is left behind `start`, because the sum of both could
     * overflow. */
    if (start < -size || start > size || length < 0 || length > size - first) {
        return adzi_fail("narrow", ADZ_ERR_INDEX,
            "%lld positions from %lld on do not lie in dimension %d of x%s", (long long)length,
            (long long)start, d, adzi_text_shape(x));
    }
    return adz_slice(x, d, first, first + length, 1);
}
