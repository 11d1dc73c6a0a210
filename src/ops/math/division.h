/* Remainders of divisions: what fmod and remainder share. */
#ifndef ADZI_OPS_MATH_DIVISION_H
#define ADZI_OPS_MATH_DIVISION_H

#include "ops/elementwise.h"

/** The forward of both: promotes a and b, refuses bool and zeros among integer divisors, records,
 * saves and computes. */
adz_tensor *adzi_remainder_of(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** The backward of both: da = dy, db = -dy q with the whole number q of y = a - b q. */
adz_status adzi_remainder_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
