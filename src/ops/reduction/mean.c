#include "ops/reduction/attr.h"
#include "ops/reduction/sum.h"

#include <math.h>

/* The mean over dimensions, torch.mean.
 *
 *     y    = 1/n sum_i x_i,   n = number of elements per result
 *     dx_i = dy / n
 *
 * x has any shape and is f32 or f64. y has the sizes of x without the reduced dimensions, or with
 * size 1 there. The node saves no tensor: the gradient needs the shape of x only, which every node
 * knows. */

/* dx is a view of dy / n that repeats it over the reduced dimensions with stride 0. It takes no
 * memory of the size of x. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    unsigned mask = adzi_attr(node, adzi_reduce_attr)->mask;
    adz_shape shape = adzi_input_shape(node, 0);
    adz_tensor *each = adz_mul_number(adz_reshape(dy[0], adzi_kept_shape(shape, mask)),
        1.0 / (double)adzi_reduced_count(shape, mask));
    dx[0] = adz_expand(each, shape);
    return adzi_status(dx[0]);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_reduce_attr *at = block;
    adzi_reduce_shape(y, in[0], at->mask, at->keepdim);
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_reduce_attr *at = block;
    const int64_t n = adzi_reduced_count(adz_tensor_shape(in[0]), at->mask);
    /* The mean of no elements is 0 / 0, which is NaN as in PyTorch. */
    if (n == 0) {
        adzi_fill(y[0], NAN);
    } else {
        /* The kernel of the sum multiplies each result by 1 / n before it rounds to the dtype. */
        adzi_sum_into(y[0], in[0], at->mask, 1.0 / (double)n);
    }
}

/* Integers are refused, as in PyTorch, because their mean is no integer. */
const adzi_op adzi_op_mean = { .name = "mean",
    .backward = backward,
    ADZI_ATTRIBUTES(adzi_reduce_attr, adzi_reduce_fields),
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_mean(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_reduce_attr attr = { .keepdim = keepdim };
    return adzi_reduce_mask("mean", x, dims, &attr.mask) ? ADZI_RUN(mean, launch, &attr, x) : NULL;
}
