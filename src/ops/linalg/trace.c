#include "ops/op.h"

/* The sum of the diagonal of a matrix, torch.trace. A composition. */
adz_tensor *adz_trace(adz_tensor *x)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("trace", "x", x)) {
        return NULL;
    }
    if (x->rank != 2) {
        return adzi_fail("trace", ADZ_ERR_SHAPE, "x%s is no matrix", adzi_text_shape(x));
    }
    return adz_sum(adz_diagonal(x, 0, 0, 1), ADZ_ALL_DIMS, ADZ_DROPDIM);
}
