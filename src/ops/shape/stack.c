#include "ops/shape/list.h"

/* Joins tensors of equal shape along a new dimension, torch.stack.
 *
 *     y[..., k, ...] = x_k
 *     dx_k           = dy[..., k, ...]
 *
 * n tensors [D, E] give y[n, D, E] for dim 0. It is a composition: unsqueeze gives each tensor the
 * new dimension, and cat joins them and records the gradient. */

/* cat would compare shapes, too, but its message would name the new dimension. */
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

/* The list of unsqueezed views is needed during the call only. The views themselves belong to the
 * scope. */
adz_tensor *adz_stack(adz_tensor *const *tensors, size_t n, int dim)
{
    ADZI_COMPOSED();
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
