#include "ops/shape/reshape.h"

#include "ops/op.h"

/* A tensor with the elements of x in a given shape, torch.reshape.
 *
 *     y  = the elements of x in row-major order, in the new shape
 *     dx = dy in the shape of x
 *
 * y is a view of x if the strides allow it, and a contiguous copy otherwise. One size may be -1 and
 * follows from the number of elements. The node saves nothing: every node knows the shape of its
 * input. */

/* The gradient is a reshape, so it can be differentiated again. It is a view wherever dy is
 * contiguous. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_reshape(dy[0], adzi_input_shape(node, 0));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_reshape = { .name = "reshape", .backward = backward };

/* A size of -1 is refused if another size is 0, because any number would fit. The sizes beside a 0
 * must not overflow either: strides are products of them. */
bool adzi_resolve_shape(const char *op, const adz_tensor *x, adz_shape *shape)
{
    int unknown = -1;
    int64_t count = 1;
    bool fits = shape->rank >= 0 && shape->rank <= ADZ_MAX_RANK;
    for (int i = 0; i < shape->rank && fits; ++i) {
        if (shape->sizes[i] == -1 && unknown < 0) {
            unknown = i;
        } else {
            fits = shape->sizes[i] >= 0 && adzi_multiply(count, shape->sizes[i], &count);
        }
    }
    if (fits && unknown >= 0) {
        fits = count > 0 && x->numel % count == 0;
        shape->sizes[unknown] = fits ? x->numel / count : -1;
        count = fits ? x->numel : count;
    }
    if (fits && count == x->numel) {
        return x->numel > 0 || adzi_check_sizes(op, shape->rank, shape->sizes, (adz_dtype)x->dtype,
                                   &count) == ADZ_OK;
    }
    adzi_error(op, ADZ_ERR_SHAPE, "x%s has %lld elements and does not fit shape %s",
        adzi_text_shape(x), (long long)x->numel,
        shape->rank < 0 ? "(more than 8 sizes)" : adzi_text_sizes(shape->rank, shape->sizes));
    return false;
}

/* Elements are not moved if a view can have the new shape. View or copy, there is one node whose
 * gradient is a reshape. The call is written out, because an operator in the form is always a view
 * or never. */
adz_tensor *adz_reshape(adz_tensor *x, adz_shape shape)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, reshape, x) || !adzi_resolve_shape("reshape", x, &shape)) {
        return NULL;
    }
    /* A reshape to the shape that x has is frequent in modules that flatten and restore. */
    bool same = shape.rank == x->rank;
    for (int i = 0; i < x->rank && same; ++i) {
        same = shape.sizes[i] == x->sizes[i];
    }
    if (same) { /* no view and no node: the caller gets x itself */
        return x;
    }
    int64_t strides[ADZ_MAX_RANK];
    bool view = adzi_view_strides(x, shape.rank, shape.sizes, strides);
    adz_tensor *y = view ? adzi_new_view(&call, x, shape.rank, shape.sizes, strides, 0)
                         : adzi_new(&call, (adz_dtype)x->dtype, shape.rank, shape.sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    if (!view) {
        /* The copy walks both tensors in the shape of x, with the strides of a contiguous tensor
         * for y. */
        adz_tensor flat = *y;
        flat.rank = x->rank;
        for (int i = 0; i < x->rank; ++i) {
            flat.sizes[i] = x->sizes[i];
        }
        adzi_contiguous_strides(x->rank, x->sizes, flat.strides);
        adzi_copy(&flat, x);
    }
    return y;
}
