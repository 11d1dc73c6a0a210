#include "ops/index/nonzero.h"

#include "ops/op.h"

/* The elements at which a mask is true, torch.masked_select. A composition of nonzero, which finds
 * their positions, and index_select. */
adz_tensor *adz_masked_select(adz_tensor *x, adz_tensor *mask)
{
    ADZI_COMPOSED();
    static const char op[] = "masked_select";
    adz_shape shape = { .rank = 0 };
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "mask", mask)) {
        return NULL;
    }
    if (mask->dtype != ADZ_BOOL) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "the mask is %s, not bool; compare it, as adz_ne_number does",
            adz_dtype_name((adz_dtype)mask->dtype));
    }
    if (!adzi_broadcast(op, &shape.rank, shape.sizes, x, mask) || !adzi_elements_decide(op, mask)) {
        return NULL;
    }
    adz_tensor *flat = adz_reshape(adz_expand(x, shape), ADZ_SHAPE(-1));
    adz_tensor *hits = adz_nonzero(adz_reshape(adz_expand(mask, shape), ADZ_SHAPE(-1)));
    return hits != NULL ? adz_index_select(flat, 0, adz_reshape(hits, ADZ_SHAPE(hits->sizes[0])))
                        : NULL;
}
