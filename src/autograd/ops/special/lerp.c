#include "autograd/op.h"

/* Linear interpolation, torch.lerp.
 *
 *     y = start + weight (end - start)
 *
 * A composition. From the weight 1/2 on it starts at the end, end + (weight - 1) (end - start), so
 * that the weight 1 gives exactly `end`. Both choices are made before the product, which has the
 * same derivatives for both. */
static bool check(const adz_tensor *start, const adz_tensor *end)
{
    if (!adzi_check_tensor("lerp", "start", start) || !adzi_check_tensor("lerp", "end", end)) {
        return false;
    }
    const adz_tensor *t = start->dtype > ADZ_F64 ? start : end;
    if (t->dtype > ADZ_F64) {
        adzi_error("lerp", ADZ_ERR_DTYPE,
            "an end is %s, but both must be float32 or float64; use adz_to",
            adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    return true;
}

adz_tensor *adz_lerp(adz_tensor *start, adz_tensor *end, adz_tensor *weight)
{
    if (!check(start, end)) {
        return NULL;
    }
    adz_tensor *near = adz_lt_number(adz_abs(adz_detach(weight)), 0.5);
    adz_tensor *from = adz_where(near, start, end);
    adz_tensor *factor = adz_where(near, weight, adz_sub_number(weight, 1));
    return adz_add(from, adz_mul(factor, adz_sub(end, start)));
}

adz_tensor *adz_lerp_number(adz_tensor *start, adz_tensor *end, double weight)
{
    if (!check(start, end)) {
        return NULL;
    }
    const bool near = weight < 0.5 && weight > -0.5;
    return adz_add(
        near ? start : end, adz_mul_number(adz_sub(end, start), near ? weight : weight - 1));
}
