/**
 * @file linalg.h
 * Matrix products.
 */
#ifndef ADZE_OPS_LINALG_H
#define ADZE_OPS_LINALG_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Matrix product, with PyTorch's rules on ranks.
 *
 *     y[..., m, n] = a[..., m, k] b[..., k, n]
 *
 * A vector on the left counts as a row, on the right as a column, and its dimension is removed from
 * the result. Leading dimensions broadcast. Transposed operands are read without a copy.
 *
 * @param a  rank 1 to 8; f32, f64, i32, i64 or u8
 * @param b  rank 1 to 8, its inner size that of a
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves each where the other wants a gradient
 * @see      torch.matmul
 */
ADZ_API adz_tensor *adz_matmul(adz_tensor *a, adz_tensor *b);

/**
 * Affine map of the last dimension.
 *
 *     y[..., H] = x[..., D] w[H, D]^T + b[H]
 *
 * @param x       rank 1 to 8, f32 or f64
 * @param weight  w[H, D], of x's dtype
 * @param bias    b[H], or ADZ_NONE
 * @return        y, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x, weight and bias, to any order; saves x and weight where needed
 * @see           torch.nn.functional.linear
 */
ADZ_API adz_tensor *adz_linear(adz_tensor *x, adz_tensor *weight, adz_tensor *bias);

#ifdef __cplusplus
}
#endif

#endif
