/* Splitting features into the heads of attention, and merging heads. */
#include "heads.h"

#include "adze/ops/shape.h"
#include "zoo.h"

adz_tensor *adzi_zoo_split_heads(adz_tensor *x, int64_t heads)
{
    int64_t width = adz_tensor_size(x, 2) / heads;
    adz_tensor *parts =
        adz_reshape(x, ADZ_SHAPE(adz_tensor_size(x, 0), adz_tensor_size(x, 1), heads, width));
    return adz_permute(parts, ADZ_DIMS(0, 2, 1, 3));
}

adz_tensor *adzi_zoo_merge_heads(adz_tensor *x)
{
    adz_tensor *rows = adz_permute(x, ADZ_DIMS(0, 2, 1, 3));
    return rows == NULL
               ? NULL
               : adz_reshape(rows, ADZ_SHAPE(adz_tensor_size(rows, 0), adz_tensor_size(rows, 1),
                                       adz_tensor_size(rows, 2) * adz_tensor_size(rows, 3)));
}
