/* The forward and the backward that maximum and minimum share. */
#ifndef ADZI_OPS_MATH_MAXIMUM_H
#define ADZI_OPS_MATH_MAXIMUM_H

#include "ops/elementwise.h"

/** The larger or the smaller of a and b, as `kernels` select it, in their common dtype. Saves both
 * inputs. */
adz_tensor *adzi_extremum(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** The backward of both inputs. An input gets dy / 2 where it equals the other input, 0 where
 * `loses`(input, other input) is true, else dy. */
adz_status adzi_extremum_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy,
    adz_tensor *(*loses)(adz_tensor *a, adz_tensor *b));

/** The fused backward of both inputs. The kernel reads (x, the other input, dy) and writes dx. */
adz_status adzi_extremum_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adzi_float_kernels kernels);

#endif
