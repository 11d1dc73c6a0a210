#include "ops/op.h"

/* Sorted slices, torch.sort with stable=True: the topk of all elements, whose order is stable.
 * topk sorts them by the kernel of sort.kernel.c, unless the slices are short. */
adz_tensor *adz_sort(adz_tensor *x, int dim, bool descending, adz_tensor **indices)
{
    ADZI_COMPOSED();
    if (indices != NULL) {
        *indices = NULL;
    }
    if (!adzi_check_tensor("sort", "x", x)) {
        return NULL;
    }
    const int d = adzi_dim("sort", x, dim);
    if (d < 0) {
        return NULL;
    }
    return adz_topk(x, x->rank > 0 ? x->sizes[d] : 1, d, descending, indices);
}
