/**
 * @file decomposition.h
 * Solvers and factorisations of matrices: torch.linalg.
 *
 * These rules hold for every operator of this file:
 *
 * - The last two dimensions are a matrix, and leading ones are a batch of matrices.
 * - Inputs are f32 or f64, and the computation is in this dtype, whatever
 *   adz_set_matmul_precision() says.
 * - A matrix for which there is no result gives ADZ_ERR_NUMERIC. The message names the item of the
 *   batch and the pivot. Replays of a plan report it, too.
 * - The bits depend on neither the number of threads nor the rest of the batch.
 * - ONNX and C files cannot contain these operators: an export is refused.
 */
#ifndef ADZE_OPS_DECOMPOSITION_H
#define ADZE_OPS_DECOMPOSITION_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Solves systems of linear equations by LU factors with partial pivoting.
 *
 *     a x = b
 *
 * As in PyTorch, b counts as a batch of vectors if it has one dimension, or the shape of a without
 * the last dimension. Otherwise it is a batch of matrices, whose leading sizes broadcast with those
 * of a.
 *
 * @param a  a[..., n, n]
 * @param b  b[..., n, k], or vectors b[..., n]
 * @return   x, shaped like b after broadcasting, in the promoted dtype, borrowed from the scope, or
 *           NULL
 * @errors   ADZ_ERR_NUMERIC (a is singular), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order without another factorisation; saves a, its factors and x
 * @see      torch.linalg.solve
 */
ADZ_API adz_tensor *adz_solve(adz_tensor *a, adz_tensor *b);

/**
 * Solves systems whose matrix is a triangle.
 *
 *     a x = b     or     x a = b with left = false
 *
 * The other triangle of a is not read and has the gradient 0.
 *
 * @param a              a[..., n, n]
 * @param b              b[..., n, k], or b[..., k, n] with left = false; leading sizes broadcast
 * @param upper          whether the upper triangle is read; else the lower one
 * @param left           whether a is on the left of x; PyTorch's default is true
 * @param unitriangular  whether the diagonal counts as ones and is not read; PyTorch's default is
 *                       false
 * @return               x, borrowed from the scope, or NULL
 * @errors               ADZ_ERR_NUMERIC (a diagonal has a 0; PyTorch's x is infinite then),
 *                       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad                 a and b, to any order; saves a and x
 * @see                  torch.linalg.solve_triangular
 */
ADZ_API adz_tensor *adz_solve_triangular(
    adz_tensor *a, adz_tensor *b, bool upper, bool left, bool unitriangular);

/**
 * The Cholesky factors of symmetric positive definite matrices.
 *
 *     a = y y^T, y lower     or     a = y^T y, y upper
 *
 * The diagonal of y is positive. Only the triangle of a that y has is read.
 *
 * @param a      a[..., n, n]
 * @param upper  whether y is upper; PyTorch's default is false
 * @return       y, shaped like a, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_NUMERIC (a is not positive definite), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *               ADZ_ERR_MEMORY
 * @grad         a, to any order, symmetric; saves y
 * @see          torch.linalg.cholesky
 */
ADZ_API adz_tensor *adz_cholesky(adz_tensor *a, bool upper);

/**
 * Solves systems whose matrix is known by its Cholesky factor.
 *
 *     factor factor^T x = b     or     factor^T factor x = b with upper
 *
 * @param b       b[..., n, k]
 * @param factor  factor[..., n, n], the result of adz_cholesky; leading sizes broadcast
 * @param upper   whether the factor is upper; PyTorch's default is false
 * @return        x, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_NUMERIC (a diagonal has a 0), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          b and factor, to any order; saves factor, x and factor^T x
 * @see           torch.cholesky_solve
 */
ADZ_API adz_tensor *adz_cholesky_solve(adz_tensor *b, adz_tensor *factor, bool upper);

/**
 * Inverse matrices. adz_solve is faster and more accurate where the inverse is only multiplied.
 *
 * @param a  a[..., n, n]
 * @return   y, shaped like a, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_NUMERIC (a is singular), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a, to any order; saves y
 * @see      torch.linalg.inv
 */
ADZ_API adz_tensor *adz_inv(adz_tensor *a);

/**
 * Determinants. That of an empty matrix is 1.
 *
 * The gradient at a singular matrix is computed as PyTorch does it: pivots that are 0 count as the
 * rounding error of the largest one. Derivatives of second and higher order are not accurate there.
 *
 * @param a  a[..., n, n]
 * @return   y[...], borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a, to any order; saves a, its LU factors and y
 * @see      torch.linalg.det
 */
ADZ_API adz_tensor *adz_det(adz_tensor *a);

/**
 * Signs of determinants, and logarithms of their absolute values, which do not overflow.
 *
 * A singular matrix has the sign 0 and the logarithm -INFINITY. Its gradient is not finite.
 *
 * @param a     a[..., n, n]
 * @param sign  set to the signs, -1, 0 or 1, shaped like the result and borrowed from the scope; or
 *              NULL. It has no gradient. After a failure it is set to NULL.
 * @return      log(abs(det(a)))[...], borrowed from the scope, or NULL
 * @errors      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad        a, to any order; saves a and its LU factors
 * @see         torch.linalg.slogdet
 */
ADZ_API adz_tensor *adz_slogdet(adz_tensor *a, adz_tensor **sign);

#ifdef __cplusplus
}
#endif

#endif
