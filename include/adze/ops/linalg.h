/**
 * @file linalg.h
 * Matrix products.
 */
#ifndef ADZE_OPS_LINALG_H
#define ADZE_OPS_LINALG_H

#include "adze/random.h"
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

/**
 * adz_relu of adz_linear as one operator, which passes over the result once and keeps one matrix
 * fewer. An ADZ_SEQUENTIAL with a Linear before a ReLU computes it so.
 *
 *     y = max(0, x w^T + b)
 *
 * @param x       as adz_linear's
 * @param weight  likewise
 * @param bias    likewise
 * @return        y, with the bits of adz_relu(adz_linear(x, weight, bias)), borrowed from the
 *                scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x, weight and bias, to any order; saves y, and x and weight where needed
 * @see           torch.nn.intrinsic.LinearReLU
 */
ADZ_API adz_tensor *adz_linear_relu(adz_tensor *x, adz_tensor *weight, adz_tensor *bias);

/**
 * adz_dropout of adz_linear_relu as one operator. The backward needs no mask: it reads y.
 *
 * @param x          as adz_linear's
 * @param weight     likewise
 * @param bias       likewise
 * @param p          probability of zeroing an element, in [0, 1]
 * @param training   false: as adz_linear_relu
 * @param generator  what to draw from, as adz_dropout does; NULL for the default one
 * @return           y, with the bits of the three operators, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (p), ADZ_ERR_MEMORY
 * @grad             as adz_linear_relu's
 * @see              torch.nn.functional.dropout
 */
ADZ_API adz_tensor *adz_linear_relu_dropout(adz_tensor *x, adz_tensor *weight, adz_tensor *bias,
    double p, bool training, adz_generator *generator);

/**
 * A matrix product added to something.
 *
 *     y[m, n] = beta c + alpha a[m, k] b[k, n]
 *
 * With beta 0, c counts for nothing, NaN included.
 *
 * @param c      broadcasts to [m, n]
 * @param a      a[m, k]
 * @param b      b[k, n]
 * @param beta   factor of c; PyTorch's default is 1
 * @param alpha  factor of the product; PyTorch's default is 1
 * @return       y in the promoted dtype, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a fraction with integers),
 *               ADZ_ERR_MEMORY
 * @grad         a, b and c, to any order; saves a and b where needed
 * @see          torch.addmm
 */
ADZ_API adz_tensor *adz_addmm(
    adz_tensor *c, adz_tensor *a, adz_tensor *b, double beta, double alpha);

/**
 * One matrix product per item of a batch.
 *
 *     y[i] = a[i] b[i],   a[B, m, k], b[B, k, n]
 *
 * @param a  rank 3
 * @param b  rank 3
 * @return   y[B, m, n] in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves each where the other wants a gradient
 * @see      torch.bmm
 */
ADZ_API adz_tensor *adz_bmm(adz_tensor *a, adz_tensor *b);

/**
 * Every product of two vectors' elements.
 *
 *     y[i, j] = a[i] b[j]
 *
 * @param a  a[m]
 * @param b  b[n]
 * @return   y[m, n] in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves each where the other wants a gradient
 * @see      torch.outer
 */
ADZ_API adz_tensor *adz_outer(adz_tensor *a, adz_tensor *b);

/**
 * Sums of products of one or two tensors, dimensions named by letters: "bqd,bkd->bqk".
 *
 * A letter of the result stands for a dimension of the result; the others are summed over. A letter
 * twice in one operand takes the diagonal. "..." stands for the dimensions without a letter, which
 * broadcast; so do sizes of 1. Without "->" the result has the ellipsis and then, in the order of
 * the alphabet (capitals first), the letters that occur once. What is summed over in both operands
 * is computed as a matrix product, which reads operands where they lie if their strides allow.
 *
 * @param equation  letters, commas, "..." and "->"; blanks are skipped
 * @param a         the first operand
 * @param b         the second, or ADZ_NONE
 * @return          y in the promoted dtype, borrowed from the scope, or NULL; with one operand it
 *                  may be a view of a, or a itself
 * @errors          ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad            a and b, to any order; saves each where the other wants a gradient
 * @see             torch.einsum
 */
ADZ_API adz_tensor *adz_einsum(const char *equation, adz_tensor *a, adz_tensor *b);

#ifdef __cplusplus
}
#endif

#endif
