#include "ops/op.h"

/* Differences of neighbours along a dimension, torch.diff.
 *
 *     y_i = x_(i + 1) - x_i, n times
 *
 * A composition. A truth value differs where it changes, as in PyTorch. */
adz_tensor *adz_diff(adz_tensor *x, int64_t n, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "diff";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->rank == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x is a scalar, which has no neighbours");
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    if (n < 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "n is %lld, but must be 0 or more", (long long)n);
    }
    adz_tensor *y = n == 0 ? adz_clone(x) : x;
    for (int64_t i = 0; i < n && y != NULL; ++i) {
        const int64_t left = y->sizes[d] > 0 ? y->sizes[d] - 1 : 0, from = y->sizes[d] - left;
        adz_tensor *next = adz_narrow(y, d, from, left), *last = adz_narrow(y, d, 0, left);
        y = x->dtype == ADZ_BOOL ? adz_logical_xor(next, last) : adz_sub(next, last);
        n = left == 0 ? 0 : n;
    }
    return y;
}
