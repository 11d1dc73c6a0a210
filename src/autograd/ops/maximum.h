/* What maximum and minimum share. */
#ifndef ADZI_AUTOGRAD_OPS_MAXIMUM_H
#define ADZI_AUTOGRAD_OPS_MAXIMUM_H

#include "autograd/ops/elementwise.h"

/** The larger or smaller of a and b by `kernels`, in their common dtype. */
adz_tensor *adzi_extremum(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** The gradient of both: to the one chosen, halves where they tie. */
adz_status adzi_extremum_backward(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, bool larger);

/** Likewise by a kernel of (x, the other, dy). */
adz_status adzi_extremum_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adzi_float_kernels kernels);

#endif
