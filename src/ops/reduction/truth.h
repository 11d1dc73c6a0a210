/* any and all: one forward between them. */
#ifndef ADZI_OPS_REDUCTION_TRUTH_H
#define ADZI_OPS_REDUCTION_TRUTH_H

#include "ops/op.h"
#include "ops/reduction/reduce.h"

/**
 * A truth value over the dimensions `dims`. `run` and `join` are the kernels that reduce and
 * combine, indexed by dtype. The result is bool, or u8 if x is u8.
 */
adz_tensor *adzi_truth(const adzi_op *op, adz_tensor *x, adz_dims dims, bool keepdim,
    const adzi_kernel *run, const adzi_kernel *join);

#endif
