/* The common part of adaptive_avg_pool and adaptive_max_pool in one to three dimensions. */
#ifndef ADZI_OPS_POOL_ADAPTIVE_POOL_H
#define ADZI_OPS_POOL_ADAPTIVE_POOL_H

#include "ops/pool/windows.h"

/** Check and compute a call of an operator whose windows have n dimensions. */
adz_tensor *adzi_adaptive_max(
    const adzi_op *op, adz_tensor *x, int n, adz_shape output_size, adz_tensor **indices);
adz_tensor *adzi_adaptive_avg(const adzi_op *op, adz_tensor *x, int n, adz_shape output_size);

adz_status adzi_adaptive_max_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_adaptive_max_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_adaptive_avg_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_adaptive_avg_expression(adz_tensor **y, adz_tensor *const *in, const void *attr);

#endif
