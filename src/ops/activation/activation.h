/* The shared code of elementwise activation functions that save x. */
#ifndef ADZI_OPS_ACTIVATION_ACTIVATION_H
#define ADZI_OPS_ACTIVATION_ACTIVATION_H

#include "ops/op.h"

/**
 * The forward, y = f(x, p): enters, records, saves x and computes.
 *
 * @param x        any shape, f32 or f64
 * @param kernels  the kernels of this processor's level, [dtype]
 * @param p        ADZI_POINTWISE_PARAMS numbers that the kernels read, or NULL for none
 * @param attr     the operator's attributes, which the node copies; NULL for none
 * @param again    computes y again from the node, by the public function; NULL if that takes long
 * @return         y, shaped like x, borrowed from the scope, or NULL with the error recorded
 */
adz_tensor *adzi_activate(const adzi_op *op, adz_tensor *x, const adzi_kernel *kernels,
    const double *p, const void *attr, size_t attr_size, adz_tensor *(*again)(adzi_node *node));

/** The fused backward, dx = dy f'(x, p). The kernel reads (dy, x) and the numbers p. Fails where x
 * was changed in place after the forward. */
adz_status adzi_activate_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, const adzi_kernel *kernels, const double *p);

#endif
