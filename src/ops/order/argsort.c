#include "ops/op.h"

/* The indices of adz_sort, torch.argsort. No gradient flows through them. */
adz_tensor *adz_argsort(adz_tensor *x, int dim, bool descending)
{
    ADZI_COMPOSED();
    adz_tensor *indices = NULL;
    if (!adzi_check_tensor("argsort", "x", x)) {
        return NULL;
    }
    const int d = adzi_dim("argsort", x, dim);
    return d >= 0 && adz_sort(adz_detach(x), d, descending, &indices) != NULL ? indices : NULL;
}
