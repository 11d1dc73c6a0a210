#include "ops/op.h"

/* One index of a dimension, which is removed, torch.select: y[i][j] = x[i][index][j]. y is a view.
 * It is a composition of slice and squeeze, whose nodes put dy among zeros. A negative index counts
 * from the end. */
adz_tensor *adz_select(adz_tensor *x, int dim, int64_t index)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("select", "x", x)) {
        return NULL;
    }
    if (x->rank == 0) {
        return adzi_fail("select", ADZ_ERR_DIM, "a scalar has nothing to select from");
    }
    int d = adzi_dim("select", x, dim);
    if (d < 0) {
        return NULL;
    }
    int64_t size = x->sizes[d];
    if (index < -size || index >= size) {
        return adzi_fail("select", ADZ_ERR_INDEX,
            "index %lld is outside -%lld .. %lld of dimension %d of x%s", (long long)index,
            (long long)size, (long long)size - 1, d, adzi_text_shape(x));
    }
    /* The slice is one element wide, and squeeze removes that dimension and no other one. */
    index = index < 0 ? index + size : index;
    return adz_squeeze(adz_slice(x, d, index, index + 1, 1), d);
}
