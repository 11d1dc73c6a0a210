#include "ops/op.h"

/* Dropout with a mask that the caller has drawn.
 *
 *     y = x mask / keep
 *
 * x and the mask broadcast to y. A composition of two products, so it has no node of its own.
 * ADZ_NONE, NULL and shapes that do not fit are refused by the products. */

adz_tensor *adz_dropout_mask(adz_tensor *x, adz_tensor *mask, double keep)
{
    /* A tensor that is NULL goes on to adz_mul, whose message names it. */
    if (x != NULL && mask != NULL && !(keep > 0 && keep <= 1)) {
        return adzi_fail("dropout_mask", ADZ_ERR_ARGUMENT,
            "keep is %s, but the share that is kept lies in (0, 1]", adzi_text_number(keep));
    }
    return adz_mul_number(adz_mul(x, mask), 1 / keep);
}
