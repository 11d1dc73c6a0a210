#include "autograd/op.h"

/* y = a sigmoid(b), a and b the halves of x: the gradients are those of its parts. */
adz_tensor *adz_glu(adz_tensor *x, int dim)
{
    if (!adzi_check_tensor("glu", "x", x)) {
        return NULL;
    }
    int d = adzi_dim("glu", x, dim);
    if (d < 0) {
        return NULL;
    }
    if (x->rank == 0 || x->sizes[d] % 2 != 0) {
        return adzi_fail("glu", ADZ_ERR_SHAPE,
            "dimension %d of x%s has to be even: its first half is gated by its second", dim,
            adzi_text_shape(x));
    }
    if (!adzi_is_float((adz_dtype)x->dtype)) {
        return adzi_fail("glu", ADZ_ERR_DTYPE, "x%s is %s; convert it with adz_to",
            adzi_text_shape(x), adz_dtype_name((adz_dtype)x->dtype));
    }
    int64_t half = x->sizes[d] / 2;
    adz_tensor *gate = adz_sigmoid(adz_slice(x, d, half, 2 * half, 1));
    return adz_mul(adz_slice(x, d, 0, half, 1), gate);
}
