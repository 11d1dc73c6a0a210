#include "ops/math/maximum.h"

/* The larger of two tensors, torch.maximum, and what minimum shares with it.
 *
 *     y  = max(a, b)
 *     da = dy where a > b, dy / 2 where a = b, else 0
 *     db = dy where b > a, dy / 2 where a = b, else 0
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. If a or b is NaN,
 * y is NaN. The node saves both inputs, because each gradient compares them. */

KERNEL_TABLE_ALL(maximum);
KERNEL_TABLE_FLOAT(maximum_backward);

/* The whole forward of both operators. Both inputs are saved even if one alone wants a gradient,
 * because the comparison reads both. */
adz_tensor *adzi_extremum(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_enter(&call, op, "a, b", (adz_tensor *[]){ a, b }, 2, 0) ||
        !adzi_promote(&call, 0, 1) ||
        !adzi_broadcast(op->name, &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_input(&call, 1);
    adzi_pointwise(kernels[adzi_cpu_level][y->dtype], y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

/* The inputs receive half of dy each where they are equal, which keeps the sum of both gradients at
 * dy. A comparison with NaN is false. Where a or b is NaN, none of them loses, and both receive all
 * of dy, as in PyTorch. The comparisons are not recorded: the second derivative with respect to a
 * and b is 0. */
adz_status adzi_extremum_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy,
    adz_tensor *(*loses)(adz_tensor *a, adz_tensor *b))
{
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            adz_tensor *x = adzi_saved_input(node, i), *other = adzi_saved_input(node, 1 - i);
            adz_tensor *share = adz_where(adz_eq(x, other), adz_mul_number(dy[0], 0.5), dy[0]);
            dx[i] = adz_masked_fill(share, loses(x, other), 0);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

/* dx[i] has the shape of dy, and the kernel broadcasts the inputs to it. dy itself is not written
 * over, because the gradient of the second input still reads it. */
adz_status adzi_extremum_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adzi_float_kernels kernels)
{
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            adz_tensor *x = adzi_saved_input(node, i), *other = adzi_saved_input(node, 1 - i);
            /* Reading a saved input fails where it was changed in place after the forward. */
            bool known = x != NULL && other != NULL;
            dx[i] = known ? adzi_scratch_like(node->op->name, dy[0]) : NULL;
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
            adzi_pointwise(kernels[adzi_cpu_level][dy[0]->dtype], dx[i], 3,
                (adz_tensor *[]){ x, other, dy[0] }, NULL);
        }
    }
    return ADZ_OK;
}

/* The expression, which can be differentiated again: an input loses where the other one is larger.
 */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_extremum_backward(node, dx, dy, adz_lt);
}

/* Runs when nobody will differentiate the backward: one pass per input instead of several. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_extremum_fused(node, dx, dy, maximum_backward_kernels);
}

const adzi_op adzi_op_maximum = { .name = "maximum", .backward = backward, .fused = fused };

adz_tensor *adz_maximum(adz_tensor *a, adz_tensor *b)
{
    return adzi_extremum(&adzi_op_maximum, a, b, maximum_kernels);
}
