#include "ops/linalg/decomposition/scale.h"

/* Note [Scaled backwards] in scale.h. */

/* The exponents of the matrices of x. A matrix of zeros counts as one of very small numbers, and an
 * infinite one as one of the largest. */
static adz_tensor *exponent(adz_tensor *x)
{
    const bool is_float = x->dtype == ADZ_F32;
    if (x->numel == 0) {
        adz_shape shape = adz_tensor_shape(x);
        shape.sizes[shape.rank - 1] = shape.sizes[shape.rank - 2] = 1;
        return adz_zeros(shape, (adz_dtype)x->dtype);
    }
    adz_tensor *most = adz_amax(adz_abs(adz_detach(x)), ADZ_DIMS(-2, -1), ADZ_KEEPDIM);
    return adz_clamp(adz_floor(adz_log2(most)), is_float ? -149 : -1074, is_float ? 128 : 1024);
}

adz_tensor *adzi_common_exponent(int n, adz_tensor *const *parts, adz_tensor *const *more)
{
    adz_tensor *common = NULL;
    for (int i = 0; i < n; ++i) {
        if (parts[i] == NULL) {
            continue;
        }
        adz_tensor *e = exponent(parts[i]);
        e = more[i] != NULL ? adz_add(e, more[i]) : e;
        common = common != NULL ? adz_maximum(common, e) : e;
        if (common == NULL) {
            return NULL;
        }
    }
    return common;
}

adz_tensor *adzi_ldexp(adz_tensor *x, adz_tensor *e)
{
    if (x == NULL || e == NULL) {
        return NULL;
    }
    /* Two factors, because one may be beyond the range although the product is not. */
    const double most = x->dtype == ADZ_F32 ? 252 : 2044;
    adz_tensor *all = adz_clamp(e, -most, most), *half = adz_floor(adz_mul_number(all, 0.5));
    return adz_mul(adz_mul(x, adz_exp2(half)), adz_exp2(adz_sub(all, half)));
}
