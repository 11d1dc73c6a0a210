#include "ops/op.h"
#include "ops/slices.h"

/* The softmax along one dimension, torch.nn.functional.softmax.
 *
 *     y_i  = e^(x_i - m) / sum_j e^(x_j - m),   m = max_j x_j
 *     dx_i = y_i (dy_i - sum_j dy_j y_j)
 *
 * i and j count the elements of one slice, the elements of x[..., D, ...] along dim. Subtracting m
 * keeps the exponentials at most 1. y has the shape of x. The node saves y, so that the gradient
 * needs no exponential. It keeps dim as an attribute, counted from the first dimension. First
 * gradients take `fused`; `backward` serves gradients with a graph and traces. */

KERNEL_TABLE_FLOAT(softmax);
KERNEL_TABLE_FLOAT(softmax_backward);

typedef struct {
    int dim; /* 0 .. rank-1 */
} softmax_attr;

/* Adding one number to all elements of a slice leaves y as it is. The subtraction of the weighted
 * mean of dy therefore makes the gradient of each slice sum to 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_dims dims = ADZ_DIMS(adzi_attr(node, softmax_attr)->dim);
    /* One number per slice, which broadcasts back along dim. */
    adz_tensor *dot = adz_sum(adz_mul(dy[0], y), dims, ADZ_KEEPDIM);
    dx[0] = adz_mul(y, adz_add_scaled(dy[0], dot, -1));
    return adzi_status(dx[0]);
}

/* One kernel computes a slice's sum and then its gradient. dx is written over dy where the engine
 * is dy's only owner: each element of dy is read a last time just before it is written. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_tensor *g = adzi_compact("softmax", dy[0]);
    dx[0] = y != NULL && g != NULL ? adzi_scratch_over("softmax", g, y) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_slices_run(KERNEL_FOR(softmax_backward, y->dtype), dx[0], 2, (adz_tensor *[]){ g, y },
        adzi_attr(node, softmax_attr)->dim);
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(softmax_attr, dim) };

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    softmax_attr *at = block;
    (void)y;
    at->dim = adzi_dim("softmax", in[0], at->dim);
    return adzi_form_status(at->dim >= 0);
}

/* The units of the launch are slices. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const softmax_attr *at = block;
    adzi_slices_run(KERNEL_FOR(softmax, in[0]->dtype), y[0], 1, in, at->dim);
}

const adzi_op adzi_op_softmax = { .name = "softmax",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(softmax_attr, fields),
    .shape_rule = shape_rule,
    .saved_results = 1u << 0,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_softmax(adz_tensor *x, int dim)
{
    return ADZI_RUN(softmax, launch, &(softmax_attr){ dim }, x);
}
