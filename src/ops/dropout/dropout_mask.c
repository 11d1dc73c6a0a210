#include "ops/op.h"

/* Dropout with a mask that the caller has drawn.
 *
 *     y = x mask / keep
 *
 * x and the mask broadcast to y. A composition of two products, so it has no node of its own.
 * ADZ_NONE, NULL and shapes that do not fit are refused by the products. */

static const adz_field keep_row = { .name = "keep",
    .kind = ADZ_FIELD_F64,
    ADZ_ABOVE_TO(0, 1),
    .hint = "it is the share that is kept" };

adz_tensor *adz_dropout_mask(adz_tensor *x, adz_tensor *mask, double keep)
{
    ADZI_COMPOSED();
    /* A tensor that is NULL goes on to adz_mul, whose message names it. */
    if (x != NULL && mask != NULL && !adzi_field_takes("dropout_mask", &keep_row, keep)) {
        return NULL;
    }
    return adz_mul_number(adz_mul(x, mask), 1 / keep);
}
