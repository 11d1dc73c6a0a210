#include "ops/reduction/attr.h"
#include "ops/reduction/reduce.h"

/* The logarithm of a sum of exponentials, torch.logsumexp.
 *
 *     y    = m + log sum_i exp(x_i - m),   m = max_i x_i
 *     dx_i = dy * exp(x_i - y)
 *
 * x has any shape. y has the sizes of x without the reduced dimensions, or with size 1 there. The
 * maximum is subtracted so that no exponential overflows. No elements give -inf. The node saves x
 * and y, so that the backward needs no second reduction. */

/* The first kernel reduces elements to states and the second joins the states of blocks. The third
 * is the fused backward. */
KERNEL_TABLE_FLOAT(logsumexp_reduce);
KERNEL_TABLE_FLOAT(logsumexp_combine);
KERNEL_TABLE_FLOAT(logsumexp_backward);

/* dx = dy * exp(x - y), in which y and dy are broadcast over the reduced dimensions. These factors
 * are a softmax of x. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    unsigned mask = adzi_attr(node, adzi_reduce_attr)->mask;
    adz_shape kept = adzi_kept_shape(adzi_input_shape(node, 0), mask);
    adz_tensor *x = adzi_saved_input(node, 0), *y = adz_reshape(adzi_saved_result(node, 0), kept);
    dx[0] = adz_mul(adz_reshape(dy[0], kept), adz_exp(adz_sub(x, y)));
    return adzi_status(dx[0]);
}

/* One pass over memory, where the expression makes three: difference, exponential and product. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    unsigned mask = adzi_attr(node, adzi_reduce_attr)->mask;
    adz_shape kept = adzi_kept_shape(adzi_input_shape(node, 0), mask);
    adz_tensor *x = adzi_saved_input(node, 0), *y = adz_reshape(adzi_saved_result(node, 0), kept);
    adz_tensor *g = adz_reshape(dy[0], kept);
    dx[0] = x != NULL && y != NULL && g != NULL ? adzi_scratch_like("logsumexp", x) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    /* y and dy are broadcast by strides of 0, not copied. */
    adzi_pointwise(
        KERNEL_FOR(logsumexp_backward, x->dtype), dx[0], 3, (adz_tensor *[]){ g, x, y }, NULL);
    /* The kernel reads dy, x and y element by element and cannot fail. */
    return ADZ_OK;
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_reduce_attr *at = block;
    adzi_reduce_shape(y, in[0], at->mask, at->keepdim);
    return ADZ_OK;
}

/* The state of a block is its maximum and the sum of exponentials relative to it. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_reduce_attr *at = block;
    const adz_dtype dtype = (adz_dtype)in[0]->dtype;
    const adzi_reducer reducer = { KERNEL_FOR(logsumexp_reduce, dtype),
        KERNEL_FOR(logsumexp_combine, dtype), 2 * sizeof(double), { 0 } };
    adzi_reduce(reducer, y[0], NULL, in[0], at->mask);
}

/* Integers are converted to f32, as in PyTorch. */
const adzi_op adzi_op_logsumexp = { .name = "logsumexp",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(adzi_reduce_attr, adzi_reduce_fields),
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .saved_results = 1u << 0,
    .strided_inputs = 1u << 0,
    .promotion = ADZ_PROMOTION_INT_TO_FLOAT };

adz_tensor *adz_logsumexp(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_reduce_attr attr = { .keepdim = keepdim };
    return adzi_reduce_mask("logsumexp", x, dims, &attr.mask)
               ? ADZI_RUN(logsumexp, launch, &attr, x)
               : NULL;
}
