#include "autograd/op.h"

/* Running products along a dimension, torch.cumprod.
 *
 *     y_i = x_0 x_1 ... x_i
 *
 * A composition: after the round with distance s each element is the product of up to 2 s elements.
 * So there are about log2(n) products of whole tensors, and the gradients are right where elements
 * are 0. */
adz_tensor *adz_cumprod(adz_tensor *x, int dim)
{
    static const char op[] = "cumprod";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    adz_tensor *y = x->dtype == ADZ_F32 || x->dtype == ADZ_F64 ? x : adz_to(x, ADZ_I64);
    if (adzi_is_half((adz_dtype)x->dtype)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "x is %s, which is for storage; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    const int64_t n = x->rank > 0 ? x->sizes[d] : 1;
    for (int64_t s = 1; s < n && y != NULL; s *= 2) {
        adz_tensor *before = adz_narrow(y, d, 0, n - s), *after = adz_narrow(y, d, s, n - s);
        adz_tensor *parts[] = { adz_narrow(y, d, 0, s), adz_mul(before, after) };
        y = adz_cat(parts, 2, d);
    }
    return y == x ? adz_clone(x) : y;
}
