/* What activation functions share: elementwise, a few numbers, x saved. */
#ifndef ADZI_AUTOGRAD_OPS_ACTIVATION_ACTIVATION_H
#define ADZI_AUTOGRAD_OPS_ACTIVATION_ACTIVATION_H

#include "autograd/op.h"

/** The numbers of an activation, which its kernels read as p. */
typedef struct adzi_activation {
    double p[ADZI_POINTWISE_PARAMS];
} adzi_activation;

/** y = f(x, p) for f32 and f64; saves x and p. `kernels` is a row of a table of float kernels. */
adz_tensor *adzi_activate(
    const adzi_op *op, adz_tensor *x, const adzi_kernel *kernels, adzi_activation attr);

/** dx = f'(dy, x, p) by a kernel of inputs (dy, x): the fused backward. */
adz_status adzi_activate_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, const adzi_kernel *kernels);

/** The number i that a node's activation was called with. */
static inline double adzi_activation_p(const adzi_node *node, int i)
{
    return adzi_attr(node, adzi_activation)->p[i];
}

#endif
