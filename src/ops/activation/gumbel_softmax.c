#include "base/random_generator.h"
#include "ops/op.h"

/* A draw from the relaxed categorical distribution, torch.nn.functional.gumbel_softmax (Jang et al.
 * and Maddison et al., 2016).
 *
 *     y = softmax((x + g) / tau),   g = -log(-log u),   u even in (0, 1)
 *
 * With `hard`, y is 1 at the largest element of a slice and 0 elsewhere, and the gradient is that
 * of the softmax. A u of 0 counts as half a step of the generator, so that g is finite. It is a
 * composition. */
adz_tensor *adz_gumbel_softmax(
    adz_tensor *x, double tau, bool hard, int dim, adz_generator *generator)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("gumbel_softmax", "x", x)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail("gumbel_softmax", ADZ_ERR_DTYPE,
            "x%s is %s, but must be float32 or float64; convert it with adz_to", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if (!(tau > 0 && tau < INFINITY)) {
        return adzi_fail("gumbel_softmax", ADZ_ERR_ARGUMENT,
            "tau is %s, but must be a finite number above 0", adzi_text_number(tau));
    }
    const int along = adzi_dim("gumbel_softmax", x, dim);
    if (along < 0) {
        return NULL;
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    const double half_step = dtype == ADZ_F32 ? 0x1p-25 : 0x1p-54;
    adz_tensor *u = adz_generator_rand(generator, adz_tensor_shape(x), dtype);
    adz_tensor *exponential = adz_neg(adz_log(adz_masked_fill(u, adz_eq_number(u, 0), half_step)));
    adz_tensor *shifted = adz_sub(x, adz_log(exponential));
    adz_tensor *soft = adz_softmax(adz_div_number(shifted, tau), along);
    if (!hard || soft == NULL || soft->rank == 0 || soft->sizes[along] == 0) {
        return soft;
    }
    adz_tensor *constant = adz_detach(soft);
    adz_tensor *largest = adz_argmax(constant, ADZ_DIMS(along), ADZ_KEEPDIM);
    adz_tensor *one = adz_scatter_add(
        adz_zeros_like(constant), along, largest, adz_ones(adz_tensor_shape(largest), dtype));
    return adz_add(adz_sub(soft, constant), one);
}
