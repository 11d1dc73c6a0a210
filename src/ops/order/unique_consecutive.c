#include "ops/order/unique.h"

/* The elements that differ from the one before them, torch.unique_consecutive: the subtensors along
 * the one dimension of a vector. A composition. */
adz_tensor *adz_unique_consecutive(adz_tensor *x, adz_tensor **inverse, adz_tensor **counts)
{
    ADZI_COMPOSED();
    if (!adzi_unique_begin("unique_consecutive", x, inverse, counts)) {
        return NULL;
    }
    adz_tensor *flat = adz_reshape(x, ADZ_SHAPE(x->numel));
    adz_tensor *y = flat != NULL ? adz_unique_consecutive_dim(flat, 0, inverse, counts) : NULL;
    adz_tensor *number = NULL;
    if (y != NULL && inverse != NULL) {
        number = adz_reshape(*inverse, adz_tensor_shape(x));
        *inverse = number;
        y = number != NULL ? y : NULL;
    }
    if (y == NULL && counts != NULL) {
        *counts = NULL;
    }
    return y;
}
