#include "ops/op.h"

/* Merges dimensions start .. end into one, torch.flatten. A scalar becomes a vector of one element.
 * It is a composition: reshape records the node, and copies only if the strides allow no view. */
adz_tensor *adz_flatten(adz_tensor *x, int start, int end)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("flatten", "x", x)) {
        return NULL;
    }
    int first = adzi_dim("flatten", x, start), last = adzi_dim("flatten", x, end);
    if (first < 0 || last < 0) {
        return NULL;
    }
    if (first > last) {
        return adzi_fail("flatten", ADZ_ERR_DIM, "start %d comes after end %d in x%s", start, end,
            adzi_text_shape(x));
    }
    adz_shape shape = { 0 };
    /* `run` is the product of the sizes that are merged so far. */
    int64_t run = 1;
    for (int i = 0; i < x->rank; ++i) {
        run = i >= first && i <= last ? run * x->sizes[i] : x->sizes[i];
        /* The dimensions before `first` and behind `last` keep their sizes. */
        if (i < first || i >= last) {
            shape.sizes[shape.rank++] = run;
            run = 1;
        }
    }
    return adz_reshape(x, x->rank > 0 ? shape : ADZ_SHAPE(1));
}
