#include "ops/op.h"

/* Where values belong in slices that come with the order of their elements, torch.searchsorted with
 * a sorter. A composition: the slices are put in order, which takes one pass as the check of their
 * order does. */
adz_tensor *adz_searchsorted_by(adz_tensor *x, adz_tensor *sorter, adz_tensor *values, bool right)
{
    ADZI_COMPOSED();
    static const char op[] = "searchsorted_by";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "sorter", sorter)) {
        return NULL;
    }
    if (x->rank == 0 || !adzi_same_sizes(x, sorter)) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "sorter%s and x%s need the same shape with a dimension; take sorter from adz_argsort of x along its last dimension",
            adzi_text_shape(sorter), adzi_text_shape(x));
    }
    return adz_searchsorted(adz_gather(adz_detach(x), -1, sorter), values, right);
}
