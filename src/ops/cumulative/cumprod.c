#include "ops/op.h"
#include "ops/cumulative/linear_recurrence.h"

/* Running products along a dimension, torch.cumprod.
 *
 *     y_i = x_0 x_1 ... x_i
 *
 * Compositions. Floats are the linear recurrence y_i = x_i y_(i - 1): from the first element on,
 * since a product of later elements could overflow where y does not. Its gradients divide by no
 * element, so they are right where elements are 0. */

static adz_tensor *product_of_floats(adz_tensor *x, int d)
{
    adz_tensor *none = adz_full_like(x, -0.0); /* -0 + y is y, also where y is -0 */
    adz_tensor *first = adz_select(none, d, 0);
    return adzi_linear_recurrence(x, none, adz_ones_like(first), d, false);
}

/* After the round with distance s each element is the product of up to 2 s elements, which wraps in
 * any order. */
static adz_tensor *product_of_integers(adz_tensor *x, int d, int64_t n)
{
    adz_tensor *y = adz_to(x, ADZ_I64);
    for (int64_t s = 1; s < n && y != NULL; s *= 2) {
        adz_tensor *before = adz_narrow(y, d, 0, n - s), *after = adz_narrow(y, d, s, n - s);
        adz_tensor *parts[] = { adz_narrow(y, d, 0, s), adz_mul(before, after) };
        y = adz_cat(parts, 2, d);
    }
    return y == x ? adz_clone(x) : y;
}

/* The scan of products, torch.cumprod; dim may be negative. */
adz_tensor *adz_cumprod(adz_tensor *x, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "cumprod";
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
    const int64_t n = x->rank > 0 ? x->sizes[d] : 1;
    if (!adzi_is_float((adz_dtype)x->dtype)) {
        return product_of_integers(x, d, n);
    }
    return n > 1 && x->numel > 0 ? product_of_floats(x, d) : adz_clone(x);
}
