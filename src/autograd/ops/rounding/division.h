/* Remainders of divisions: what fmod and remainder share. */
#ifndef ADZI_AUTOGRAD_OPS_ROUNDING_DIVISION_H
#define ADZI_AUTOGRAD_OPS_ROUNDING_DIVISION_H

#include "autograd/ops/elementwise.h"

/** The forward of both: promotes a and b, refuses bool and zeros among integer divisors, records,
 * saves both and computes. */
adz_tensor *adzi_remainder_of(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** The backward of both: da = dy, db = -dy round(a / b), where `round` is how the quotient becomes
 * an integer. */
adz_status adzi_remainder_backward(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, adz_tensor *(*round)(adz_tensor *));

#endif
