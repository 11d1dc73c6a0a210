#include "base/random_generator.h"
#include "ops/op.h"

/* The leaky rectified linear unit with slopes that are drawn, torch.nn.functional.rrelu.
 *
 *     y = x where x > 0, else r x
 *
 * In training each element has its own r, drawn evenly from lower to upper. In evaluation all have
 * the slope in the middle. It is a composition. An r is drawn for each element, also above 0, so
 * that the draws depend on nothing but the shape. */
adz_tensor *adz_rrelu(
    adz_tensor *x, double lower, double upper, bool training, adz_generator *generator)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("rrelu", "x", x)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail("rrelu", ADZ_ERR_DTYPE,
            "x%s is %s, but must be float32 or float64; convert it with adz_to", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if (!(lower <= upper && upper - lower < INFINITY)) {
        return adzi_fail("rrelu", ADZ_ERR_ARGUMENT,
            "lower is %s and upper %s; both must be finite, and lower not above upper",
            adzi_text_number(lower), adzi_text_number(upper));
    }
    if (!training) {
        return adz_leaky_relu(x, 0.5 * (lower + upper));
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *drawn = adz_generator_rand(generator, adz_tensor_shape(x), dtype);
    adz_tensor *slope = adz_add_number(adz_mul_number(drawn, upper - lower), lower);
    adz_tensor *below = adz_le_number(x, 0);
    return adz_mul(x, adz_where(below, slope, adz_scalar(1, dtype)));
}
