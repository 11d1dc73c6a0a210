#include "ops/op.h"

/* Repeats dimensions of size 1 without a copy, torch.Tensor.expand.
 *
 *     y[i][j] = x[0][j]           (x[1, D] expanded to y[N, D])
 *     dx      = dy summed over the repeated dimensions
 *
 * y is a view of x whose repeated dimensions have stride 0. New dimensions come in front, and size
 * -1 keeps the size of x. The node saves nothing, because the operator is linear. */

/* dy is passed on as it is. The engine sums a gradient over the dimensions in which its input was
 * broadcast, here as for every operator. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = dy[0];
    return ADZ_OK;
}

/* Replaces sizes of -1 and checks that only sizes of 1 grow. `lead` is the number of new
 * dimensions. */
static bool resolve(const adz_tensor *x, adz_shape *shape)
{
    bool fits = shape->rank >= x->rank && shape->rank <= ADZ_MAX_RANK;
    int lead = fits ? shape->rank - x->rank : 0;
    for (int i = 0; i < shape->rank && fits; ++i) {
        if (i < lead) {
            fits = shape->sizes[i] >= 0;
        } else {
            int64_t have = x->sizes[i - lead];
            shape->sizes[i] = shape->sizes[i] == -1 ? have : shape->sizes[i];
            fits = shape->sizes[i] == have || (have == 1 && shape->sizes[i] >= 0);
        }
    }
    if (!fits) {
        adzi_error("expand", ADZ_ERR_SHAPE,
            "x%s does not expand to %s: only sizes of 1 grow, and new dimensions come in front",
            adzi_text_shape(x), adzi_text_sizes(shape->rank, shape->sizes));
    }
    return fits;
}

/* The number of elements is checked, although no memory is taken: offsets must fit into 64 bits. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    adz_shape *shape = block;
    int64_t numel;
    if (!resolve(in[0], shape) ||
        adzi_check_sizes("expand", shape->rank, shape->sizes, y->dtype, &numel) != ADZ_OK) {
        return adzi_status(NULL);
    }
    y->shape = *shape;
    adzi_broadcast_strides(in[0], shape->rank, shape->sizes, y->strides);
    return ADZ_OK;
}

/* There are no attributes: the node knows the shape of its result. */
const adzi_op adzi_op_expand = {
    .name = "expand", .backward = backward, .shape_rule = shape_rule, .view = true
};

adz_tensor *adz_expand(adz_tensor *x, adz_shape shape)
{
    return ADZI_RUN(expand, NULL, &shape, x);
}
