#include "autograd/ops/shape/list.h"

static bool same_shapes(adz_tensor *const *tensors, size_t n)
{
    for (size_t i = 1; i < n; ++i) {
        if (!adzi_same_sizes(tensors[0], tensors[i])) {
            adzi_error("stack", ADZ_ERR_SHAPE,
                "tensor %zu%s does not have the shape of the first, %s", i,
                adzi_text_shape(tensors[i]), adzi_text_shape(tensors[0]));
            return false;
        }
    }
    return true;
}

/* Each gets the new dimension, and then they have one to be joined along. */
adz_tensor *adz_stack(adz_tensor *const *tensors, size_t n, int dim)
{
    if (!adzi_check_list("stack", tensors, n) || !same_shapes(tensors, n)) {
        return NULL;
    }
    int d = adzi_new_dim("stack", tensors[0], dim);
    if (d < 0) {
        return NULL;
    }
    size_t bytes = n * sizeof(adz_tensor *);
    adz_tensor **layers = adzi_alloc(bytes);
    if (layers == NULL) {
        return adzi_fail_memory("stack", bytes);
    }
    bool ok = true;
    for (size_t i = 0; i < n && ok; ++i) {
        layers[i] = adz_unsqueeze(tensors[i], d);
        ok = layers[i] != NULL;
    }
    adz_tensor *y = ok ? adz_cat(layers, n, d) : NULL;
    adzi_free(layers, bytes);
    return y;
}
