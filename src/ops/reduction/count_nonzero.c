#include "ops/op.h"

/* How many elements are not 0, torch.count_nonzero. A composition; NaN is not 0. */
adz_tensor *adz_count_nonzero(adz_tensor *x, adz_dims dims, bool keepdim)
{
    ADZI_COMPOSED();
    return adz_sum(adz_ne_number(x, 0), dims, keepdim);
}
