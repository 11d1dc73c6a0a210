#include "ops/op.h"

/* The line between two bounds, torch.nn.functional.hardtanh.
 *
 *     y = min where x <= min, max where x >= max, else x
 *
 * A composition. The bounds are filled in, so that the gradient at a bound is 0, as in PyTorch,
 * where that of adz_clamp is 1. */
adz_tensor *adz_hardtanh(adz_tensor *x, double min, double max)
{
    if (!(min <= max)) {
        return adzi_fail("hardtanh", ADZ_ERR_ARGUMENT,
            "min is %g and max %g, but min must not be above max", min, max);
    }
    adz_tensor *held = adz_masked_fill(x, adz_le_number(x, min), min);
    return adz_masked_fill(held, adz_ge_number(x, max), max);
}
