#include "ops/op.h"

/* Dot products of vectors along a dimension, torch.linalg.vecdot. A composition: a and b broadcast,
 * so dim counts the dimensions of their product. Sums of integers are i64; the result has the dtype
 * of the product. */
adz_tensor *adz_vecdot(adz_tensor *a, adz_tensor *b, int dim)
{
    ADZI_COMPOSED();
    adz_tensor *products = adz_mul(a, b);
    if (products == NULL) {
        return NULL;
    }
    const int d = adzi_dim("vecdot", products, dim);
    if (d < 0) {
        return NULL;
    }
    if (products->rank == 0) {
        return adzi_fail("vecdot", ADZ_ERR_DIM, "a and b are scalars, not vectors; use adz_mul");
    }
    adz_tensor *y = adz_sum(products, ADZ_DIMS(d), ADZ_DROPDIM);
    return y != NULL ? adz_to(y, (adz_dtype)products->dtype) : NULL;
}
