#include "ops/activation/activation.h"

/* The forward and the fused backward of elementwise activation functions.
 *
 *     y  = f(x)
 *     dx = dy f'(x)
 *
 * x has any shape, f32 or f64. The node saves x, because x determines f' where y does not: gelu and
 * silu are not monotonic. Functions whose derivative reads y, such as sigmoid, use adzi_unary(). */

/* Integers are refused, as in PyTorch's functions of these names. */
adz_tensor *adzi_activate(const adzi_op *op, adz_tensor *x, const adzi_kernel *kernels,
    const double *p, const void *attr, size_t attr_size, adz_tensor *(*again)(adzi_node *node))
{
    adzi_call call;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_float(&call, 0)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, x);
    if (y == NULL || !adzi_record(&call, 1, &y, attr, attr_size)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_offer_again(&call, again);
    adzi_pointwise(kernels[x->dtype], y, 1, call.in, p);
    return adzi_leave(&call, y);
}

/* Runs when nobody will differentiate the backward. dx is written over dy where the engine is dy's
 * only owner, since element i of dx depends on element i of dy and x alone. */
adz_status adzi_activate_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, const adzi_kernel *kernels, const double *p)
{
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = x != NULL && dy != NULL ? adzi_scratch_over(node->op->name, dy, x) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_pointwise(kernels[x->dtype], dx[0], 2, (adz_tensor *[]){ dy, x }, p);
    return ADZ_OK;
}
