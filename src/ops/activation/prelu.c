#include "ops/op.h"

/* The leaky rectified linear unit with slopes that are learned, torch.nn.functional.prelu.
 *
 *     y = x where x > 0, else weight x
 *
 * A composition. Where x > 0 the factor of weight is 0, so that neither an infinite weight nor an
 * infinite x gives NaN in y or in a gradient that does not depend on it. */
adz_tensor *adz_prelu(adz_tensor *x, adz_tensor *weight)
{
    ADZI_COMPOSED();
    static const char op[] = "prelu";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "weight", weight)) {
        return NULL;
    }
    const int64_t channels = x->rank > 1 ? x->sizes[1] : 1;
    if (weight->rank > 1 || (weight->numel != 1 && weight->numel != channels)) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "weight%s must have one element, or one for each of the %lld channels of x%s, which are its second dimension",
            adzi_text_shape(weight), (long long)channels, adzi_text_shape(x));
    }
    if (x->dtype != weight->dtype || (x->dtype != ADZ_F32 && x->dtype != ADZ_F64)) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "x is %s and weight %s; both must be float32 or float64, convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)weight->dtype));
    }
    /* One slope broadcasts with any x; slopes of channels need dimensions behind them. */
    adz_shape shape = { .rank = weight->numel == 1 ? 0 : x->rank - 1 };
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = i == 0 ? channels : 1;
    }
    adz_tensor *above = adz_gt_number(x, 0), *slope = adz_reshape(weight, shape);
    return adz_where(above, x, adz_mul(adz_masked_fill(x, above, 0), slope));
}
