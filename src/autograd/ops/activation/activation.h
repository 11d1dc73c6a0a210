/* What activation functions share: elementwise, x saved. */
#ifndef ADZI_AUTOGRAD_OPS_ACTIVATION_ACTIVATION_H
#define ADZI_AUTOGRAD_OPS_ACTIVATION_ACTIVATION_H

#include "autograd/op.h"

/**
 * y = f(x, p) for f32 and f64; saves x and the attributes. `kernels` is a row of a table of float
 * kernels, which read ADZI_POINTWISE_PARAMS numbers as p, or none if p is NULL.
 */
adz_tensor *adzi_activate(const adzi_op *op, adz_tensor *x, const adzi_kernel *kernels,
    const double *p, const void *attr, size_t attr_size);

/** dx = f'(dy, x, p) by a kernel of inputs (dy, x): the fused backward. */
adz_status adzi_activate_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, const adzi_kernel *kernels, const double *p);

#endif
