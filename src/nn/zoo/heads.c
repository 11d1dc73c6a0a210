#include "nn/zoo/heads.h"

#include "adze/ops/shape.h"
#include "tensor/tensor.h"

adz_tensor *adzi_split_heads(adz_tensor *x, int64_t heads)
{
    if (x == NULL) {
        return NULL;
    }
    int64_t width = x->sizes[2] / heads;
    adz_tensor *parts = adz_reshape(x, ADZ_SHAPE(x->sizes[0], x->sizes[1], heads, width));
    return adz_permute(parts, ADZ_DIMS(0, 2, 1, 3));
}

adz_tensor *adzi_merge_heads(adz_tensor *x)
{
    adz_tensor *rows = adz_permute(x, ADZ_DIMS(0, 2, 1, 3));
    return rows == NULL ? NULL
                        : adz_reshape(rows, ADZ_SHAPE(rows->sizes[0], rows->sizes[1],
                                                rows->sizes[2] * rows->sizes[3]));
}
