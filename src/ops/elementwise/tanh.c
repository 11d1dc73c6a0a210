#include "ops/elementwise/tanh.h"

#include "ops/elementwise/elementwise.h"

/* The gradient of tanh, dx = dy (1 - y^2), as an operator of dy and y, torch's tanh_backward. With
 * the gradient g of dx,
 *
 *     d(dy) = g (1 - y^2)
 *     d(y)  = -2 g dy y
 *
 * so a second derivative takes one kernel for each, and derivatives of any order exist. */

KERNEL_TABLE_PRODUCT(tanh_backward);
KERNEL_TABLE_PRODUCT(tanh_curvature);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *g)
{
    adz_tensor *y = adzi_saved_input(node, 1);
    if (y == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 1)) {
        adz_tensor *product = adz_mul(adz_mul(g[0], adzi_saved_input(node, 0)), y);
        dx[1] = adz_mul_number(product, -2);
        if (dx[1] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 0)) {
        dx[0] = adzi_tanh_gradient(g[0], y);
        return adzi_status(dx[0]);
    }
    return ADZ_OK;
}

/* d(dy) comes last, because it may be written over g. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *g)
{
    adz_tensor *y = adzi_saved_input(node, 1);
    if (y != NULL && adzi_needs(node, 1)) {
        adz_tensor *dy = adzi_saved_input(node, 0);
        dx[1] = dy != NULL ? adzi_scratch_like(node->op->name, y) : NULL;
        if (dx[1] == NULL) {
            return adzi_status(NULL);
        }
        adzi_pointwise(
            KERNEL_FOR(tanh_curvature, y->dtype), dx[1], 3, (adz_tensor *[]){ g[0], dy, y }, NULL);
    }
    return y == NULL || adzi_needs(node, 0)
               ? adzi_fused1(node, dx, g[0], y, tanh_backward_kernels[adzi_cpu_level])
               : ADZ_OK;
}

static void launch(adz_tensor *const *dx, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    if (in[0]->is_zero) {
        adzi_fill_zeros(dx[0]);
    } else {
        adzi_pointwise(KERNEL_FOR(tanh_backward, dx[0]->dtype), dx[0], 2, in, NULL);
    }
}

/* The derivative by dy reads y alone. */
static const uint32_t saved_for[] = { 1u << 1, 1u << 0 | 1u << 1 };

static const adzi_op gradient_op = { .size = sizeof(adzi_op),
    .name = "tanh_backward",
    .backward = backward,
    .fused = fused,
    .saved_for = saved_for,
    .strided_inputs = 1u << 0 | 1u << 1 };

/* dy (1 - y^2) of tensors of one shape. A trace gets operators that exports know. */
adz_tensor *adzi_tanh_gradient(adz_tensor *dy, adz_tensor *y)
{
    if (y == NULL) {
        return NULL;
    }
    if (adzi_self()->tracer != NULL) {
        return adz_mul(dy, adz_number_sub(1, adz_square(y)));
    }
    return ADZI_RUN_OF(&gradient_op, launch, NULL, dy, y);
}
