#include "ops/op.h"
#include "ops/shape/reshape.h"

/* A view of x with a given shape, which copies nothing, torch.Tensor.view. It is a composition:
 * reshape records the node. If the strides of x do not allow a view, the call is refused and its
 * message shows the strides. */
adz_tensor *adz_view(adz_tensor *x, adz_shape shape)
{
    ADZI_COMPOSED();
    int64_t strides[ADZ_MAX_RANK];
    if (!adzi_check_tensor("view", "x", x) || !adzi_resolve_shape("view", x, &shape)) {
        return NULL;
    }
    if (!adzi_view_strides(x, shape.rank, shape.sizes, strides)) {
        return adzi_fail("view", ADZ_ERR_SHAPE,
            "x%s with strides %s cannot be read as %s without a copy; use adz_reshape",
            adzi_text_shape(x), adzi_text_sizes(x->rank, x->strides),
            adzi_text_sizes(shape.rank, shape.sizes));
    }
    /* The reshape finds these strides again and makes the view. */
    return adz_reshape(x, shape);
}
