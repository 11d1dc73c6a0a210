/**
 * @file activation.h
 * Activation functions.
 */
#ifndef ADZE_OPS_ACTIVATION_H
#define ADZE_OPS_ACTIVATION_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Rectified linear unit.
 *
 *     y = max(x, 0); the gradient at exactly 0 is 0, NaN stays NaN
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.nn.functional.relu
 */
ADZ_API adz_tensor *adz_relu(adz_tensor *x);

/**
 * adz_relu in place.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   x, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves the result
 * @see      torch.relu_
 */
ADZ_API adz_tensor *adz_relu_(adz_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
