#include "autograd/op.h"

typedef struct {
    unsigned mask;
} flip_attr;

static adz_tensor *flip(adz_tensor *x, unsigned mask);

/* dx = dy, flipped back. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = flip(dy[0], adzi_attr(node, flip_attr)->mask);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD_MASK(flip_attr, mask, "dims") };

const adzi_op adzi_op_flip = { .name = "flip", .backward = backward, ADZI_FIELDS(fields) };

static adz_tensor *flip(adz_tensor *x, unsigned mask)
{
    adzi_call call;
    flip_attr attr = { mask };
    if (!ADZI_ENTER(&call, flip, x)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adz_tensor from = *x; /* x, read backwards */
    for (int d = 0; d < x->rank && x->numel > 0; ++d) {
        if (mask & (1u << d)) {
            from.data += (x->sizes[d] - 1) * x->strides[d] * (int64_t)adzi_item_size(x);
            from.strides[d] = -x->strides[d];
        }
    }
    adzi_copy(y, &from);
    return adzi_leave(&call, y);
}

adz_tensor *adz_flip(adz_tensor *x, adz_dims dims)
{
    unsigned mask;
    if (!adzi_check_tensor("flip", "x", x) || !adzi_dims_mask("flip", x, dims, &mask)) {
        return NULL;
    }
    return flip(x, mask);
}
