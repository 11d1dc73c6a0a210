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

/* Fills the shape: a size of -1 is that of x, and only sizes of 1 grow. `added` is the number of
 * new dimensions. */
static bool resolve(const adz_tensor *x, const adz_shape *wanted, adz_shape *shape)
{
    bool fits = wanted->rank >= x->rank && wanted->rank <= ADZ_MAX_RANK;
    const int added = fits ? wanted->rank - x->rank : 0;
    for (int i = 0; i < wanted->rank && fits; ++i) {
        const int64_t size = wanted->sizes[i], have = i < added ? 1 : x->sizes[i - added];
        const bool kept = size == have || (size == -1 && i >= added);
        shape->sizes[i] = kept ? have : size;
        fits = kept || (have == 1 && size >= 0);
    }
    shape->rank = wanted->rank;
    if (!fits) {
        adzi_error("expand", ADZ_ERR_SHAPE,
            "x%s does not expand to %s: only sizes of 1 grow, and new dimensions come in front",
            adzi_text_shape(x), adzi_text_sizes(wanted->rank, wanted->sizes));
    }
    return fits;
}

/* The number of elements is checked, although no memory is taken: offsets must fit into 64 bits. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    adz_shape *shape = &y->shape;
    int64_t numel;
    if (!resolve(in[0], block, shape) ||
        adzi_check_sizes("expand", shape->rank, shape->sizes, y->dtype, &numel) != ADZ_OK) {
        return adzi_status(NULL);
    }
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
