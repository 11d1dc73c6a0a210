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

/**
 * Leaky rectified linear unit.
 *
 *     y = x where x > 0, else negative_slope x; the gradient at exactly 0 is negative_slope
 *
 * @param x               any shape, f32 or f64
 * @param negative_slope  any number (PyTorch's default is 0.01)
 * @return                y, shaped like x, borrowed from the scope, or NULL
 * @errors                ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad                  x, to any order; saves x
 * @see                   torch.nn.functional.leaky_relu
 */
ADZ_API adz_tensor *adz_leaky_relu(adz_tensor *x, double negative_slope);

/**
 * Softmax along one dimension.
 *
 *     y_i = exp(x_i - m) / sum_j exp(x_j - m),   m = max_j x_j
 *
 * Entries of -inf get probability 0; a lane of -inf alone, or with NaN or +inf in it, gives NaN.
 *
 * @param x    any shape, f32 or f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves y
 * @see        torch.nn.functional.softmax
 */
ADZ_API adz_tensor *adz_softmax(adz_tensor *x, int dim);

/**
 * The logarithm of the softmax along one dimension, without overflow or underflow.
 *
 *     y_i = x_i - m - log(sum_j exp(x_j - m)),   m = max_j x_j
 *
 * @param x    any shape, f32 or f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves y
 * @see        torch.nn.functional.log_softmax
 */
ADZ_API adz_tensor *adz_log_softmax(adz_tensor *x, int dim);

#ifdef __cplusplus
}
#endif

#endif
