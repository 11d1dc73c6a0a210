/* What maximum and minimum share. */
#ifndef ADZI_AUTOGRAD_OPS_MATH_MAXIMUM_H
#define ADZI_AUTOGRAD_OPS_MATH_MAXIMUM_H

#include "autograd/ops/elementwise.h"

/** The larger or smaller of a and b by `kernels`, in their common dtype. */
adz_tensor *adzi_extremum(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** dy where x was chosen, half of it where both are equal, 0 where `lost`: the other was chosen. */
adz_tensor *adzi_extremum_gradient(
    adz_tensor *dy, adz_tensor *x, adz_tensor *other, adz_tensor *lost);

/** Both gradients by a kernel of (x, the other, dy). */
adz_status adzi_extremum_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adzi_float_kernels kernels);

#endif
