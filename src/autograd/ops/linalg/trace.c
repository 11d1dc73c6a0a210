#include "autograd/op.h"

/* The sum of the diagonal of a matrix, torch.trace. A composition: the elements off the diagonal
 * are filled with 0. */
adz_tensor *adz_trace(adz_tensor *x)
{
    if (!adzi_check_tensor("trace", "x", x)) {
        return NULL;
    }
    if (x->rank != 2) {
        return adzi_fail("trace", ADZ_ERR_SHAPE, "x%s is no matrix", adzi_text_shape(x));
    }
    adz_tensor *off = adz_logical_not(adz_eye(x->sizes[0], x->sizes[1], ADZ_BOOL));
    return adz_sum(adz_masked_fill(x, off, 0), ADZ_ALL_DIMS, ADZ_DROPDIM);
}
