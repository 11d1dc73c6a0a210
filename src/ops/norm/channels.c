#include "ops/norm/channels.h"

/* Weights and biases with one element for each channel, which normalisations share. */

/* Says what is wrong with t: its shape, or else its dtype. */
bool adzi_refuse_channels(
    const char *op, const adz_tensor *x, const adz_tensor *t, const char *name)
{
    if (t->rank != 1 || t->sizes[0] != x->sizes[1]) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "%s%s does not fit x%s: it has one element per channel, and axis 1 of x holds the channels",
            name, adzi_text_shape(t), adzi_text_shape(x));
    } else {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, %s %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), name, adz_dtype_name((adz_dtype)t->dtype));
    }
    return false;
}

/* t[C] as [C, 1, ...], which broadcasts to x[N, C, ...]. */
static adz_tensor *along_channels(adz_tensor *t, const adz_tensor *x)
{
    adz_shape shape = { .rank = x->rank - 1 };
    for (int i = 0; i < shape.rank; ++i) {
        shape.sizes[i] = i == 0 ? x->sizes[1] : 1;
    }
    return adz_reshape(t, shape);
}

/* One operator for weight and bias together, where both are given. */
adz_tensor *adzi_affine_channels(adz_tensor *x, adz_tensor *weight, adz_tensor *bias)
{
    if (x == NULL) {
        return NULL;
    }
    adz_tensor *w = adzi_is_none(weight) ? weight : along_channels(weight, x);
    adz_tensor *b = adzi_is_none(bias) ? bias : along_channels(bias, x);
    if (w == NULL || b == NULL) {
        return NULL;
    }
    if (adzi_is_none(w)) {
        return adzi_is_none(b) ? x : adz_add(x, b);
    }
    return adzi_is_none(b) ? adz_mul(x, w) : adz_addcmul(b, x, w, 1);
}
