/* The forward of comparisons and logical operators. Their results are bool and have no gradient. */
#ifndef ADZI_OPS_COMPARE_COMPARE_H
#define ADZI_OPS_COMPARE_COMPARE_H

#include "ops/elementwise.h"

/** A comparison: promotes a and b to their common dtype, broadcasts them and returns a bool tensor,
 * borrowed from the scope, or NULL with the error recorded. f16 and bf16 are refused. */
adz_tensor *adzi_compare(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** A logical operator of two truth values. Elements other than 0 are true. `kernel` reads two bool
 * tensors and writes a third. */
adz_tensor *adzi_logical(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_kernel kernel);

/** A test of each element of x, such as isnan. `kernels` read x in its dtype and write bool. */
adz_tensor *adzi_test(const adzi_op *op, adz_tensor *x, adzi_all_kernels kernels);

#endif
