/* The checks that pixel_shuffle and pixel_unshuffle share. */
#ifndef ADZI_OPS_SHAPE_PIXELS_H
#define ADZI_OPS_SHAPE_PIXELS_H

#include "ops/op.h"

/** The factors are small, so that their squares and products with sizes do not overflow. */
static inline bool adzi_check_pixels(
    const char *op, const char *name, const adz_tensor *x, int64_t factor)
{
    if (!adzi_check_tensor(op, "x", x)) {
        return false;
    }
    if (factor < 1 || factor > INT32_MAX) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be from 1 to 2147483647", name,
            (long long)factor);
        return false;
    }
    /* In between x has two dimensions more. */
    if (x->rank < 3 || x->rank > ADZ_MAX_RANK - 2) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s must be [..., C, H, W] with 3 to %d dimensions",
            adzi_text_shape(x), ADZ_MAX_RANK - 2);
        return false;
    }
    return true;
}

#endif
