#include "ops/op.h"

/* Reverses the order along dimensions, torch.flip.
 *
 *     y_i  = x_{S-1-i}      (along each dimension of the list)
 *     dx_i = dy_{S-1-i}
 *
 * x has any shape and any dtype; y is a copy of the same shape. The node saves nothing: a flip is
 * its own derivative. */

typedef struct {
    unsigned mask; /* bit d: dimension d is reversed */
} flip_attr;

static adz_tensor *flip(adz_tensor *x, unsigned mask);

/* The flip is linear and its own inverse, so the gradient is a flip of dy. It can be differentiated
 * again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = flip(dy[0], adzi_attr(node, flip_attr)->mask);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD_MASK(flip_attr, mask, "dims") };

/* x is read backwards: it begins at the last element and has a negative stride. Public tensors have
 * no negative strides, so the header stays on the stack. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const flip_attr *at = block;
    adz_tensor from = *in[0];
    for (int d = 0; d < from.rank && from.numel > 0; ++d) {
        if (at->mask & (1u << d)) {
            from.data += (from.sizes[d] - 1) * from.strides[d] * (int64_t)adzi_item_size(&from);
            from.strides[d] = -from.strides[d];
        }
    }
    adzi_copy(y[0], &from);
}

const adzi_op adzi_op_flip = { .name = "flip",
    .backward = backward,
    ADZI_ATTRIBUTES(flip_attr, fields),
    .strided_inputs = 1u << 0 };

static adz_tensor *flip(adz_tensor *x, unsigned mask)
{
    return ADZI_RUN(flip, launch, &(flip_attr){ mask }, x);
}

/* A dimension may be listed once. No dimensions give a copy of x. */
adz_tensor *adz_flip(adz_tensor *x, adz_dims dims)
{
    unsigned mask;
    if (!adzi_check_tensor("flip", "x", x) || !adzi_dims_mask("flip", x, dims, &mask)) {
        return NULL;
    }
    return flip(x, mask);
}
