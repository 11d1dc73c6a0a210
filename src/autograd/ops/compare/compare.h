/* What comparisons and logical operators share: bool results, no gradient. */
#ifndef ADZI_AUTOGRAD_OPS_COMPARE_COMPARE_H
#define ADZI_AUTOGRAD_OPS_COMPARE_COMPARE_H

#include "autograd/ops/elementwise.h"

/** y = a ? b in their common dtype. */
adz_tensor *adzi_compare(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels);

/** y = a ? b of their truths, everything but 0 being true; `kernel` is one on bools. */
adz_tensor *adzi_logical(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_kernel kernel);

/** y = whether x is such. */
adz_tensor *adzi_test(const adzi_op *op, adz_tensor *x, adzi_all_kernels kernels);

#endif
