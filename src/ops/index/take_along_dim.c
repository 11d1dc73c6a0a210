#include "ops/index/indices.h"
#include "ops/op.h"

/* Elements by their indices along one dimension, torch.take_along_dim. A composition: x and the
 * indices broadcast in all other dimensions, and gather does the rest. */
adz_tensor *adz_take_along_dim(adz_tensor *x, adz_tensor *indices, int dim)
{
    ADZI_COMPOSED();
    static const char op[] = "take_along_dim";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "indices", indices)) {
        return NULL;
    }
    if (x->rank != indices->rank || x->rank == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "x%s and indices%s must have the same number of dimensions, 1 or more",
            adzi_text_shape(x), adzi_text_shape(indices));
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    adz_shape from = adz_tensor_shape(x), at = adz_tensor_shape(indices);
    for (int i = 0; i < x->rank; ++i) {
        if (i != d && from.sizes[i] != at.sizes[i] && from.sizes[i] != 1 && at.sizes[i] != 1) {
            return adzi_fail(op, ADZ_ERR_SHAPE,
                "dimension %d of x%s and indices%s does not broadcast", i, adzi_text_shape(x),
                adzi_text_shape(indices));
        }
        if (i != d) {
            from.sizes[i] = at.sizes[i] = from.sizes[i] == 1 ? at.sizes[i] : from.sizes[i];
        }
    }
    return adz_gather(adz_expand(x, from), d, adz_expand(indices, at));
}

/* Elements by their positions in row-major order, torch.take. A composition. */
adz_tensor *adz_take(adz_tensor *x, adz_tensor *index)
{
    ADZI_COMPOSED();
    static const char op[] = "take";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "index", index)) {
        return NULL;
    }
    if (index->dtype != ADZ_I64 && index->dtype != ADZ_I32) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "index is %s, not int64 or int32; use adz_to",
            adz_dtype_name((adz_dtype)index->dtype));
    }
    adz_tensor *flat = adz_reshape(x, ADZ_SHAPE(x->numel));
    adz_tensor *at = adzi_indices_of(op, index, x->numel, "elements of x", x);
    adz_tensor *list = adz_reshape(at, ADZ_SHAPE(index->numel));
    return flat != NULL && list != NULL
               ? adz_reshape(adz_index_select(flat, 0, list), adz_tensor_shape(index))
               : NULL;
}
