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

/** Options of adz_solve_triangular. Start from ADZ_SOLVE_TRIANGULAR_OPTIONS. */
typedef struct adz_solve_triangular_options {
    size_t size;        /**< sizeof(adz_solve_triangular_options) */
    bool left;          /**< whether a is on the left of x; true */
    bool unitriangular; /**< whether the diagonal counts as ones and is not read; false */
} adz_solve_triangular_options;

/** The defaults. */
#define ADZ_SOLVE_TRIANGULAR_OPTIONS                                                    \
    {                                                                                   \
        ADZ_MEMBER(size, sizeof(adz_solve_triangular_options)), ADZ_MEMBER(left, true), \
            ADZ_MEMBER(unitriangular, false)                                            \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_solve_triangular_options) as the caller knows it
 */
ADZ_API void adz_solve_triangular_options_init(adz_solve_triangular_options *options, size_t size);

/**
 * Solves systems whose matrix is a triangle.
 *
 *     a x = b     or     x a = b with `left` off
 *
 * The other triangle of a is not read and has the gradient 0.
 *
 * @param a        a[..., n, n]
 * @param b        b[..., n, k], or b[..., k, n] with `left` off; leading sizes broadcast
 * @param upper    whether the upper triangle is read; else the lower one
 * @param options  NULL for the defaults
 * @return         x, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_NUMERIC (a diagonal has a 0; PyTorch's x is infinite then),
 *                 ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a size of the options),
 *                 ADZ_ERR_MEMORY
 * @grad           a and b, to any order; saves a and x
 * @see            torch.linalg.solve_triangular
 */
ADZ_API adz_tensor *adz_solve_triangular(
    adz_tensor *a, adz_tensor *b, bool upper, const adz_solve_triangular_options *options);

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
 * The gradient is right as far as it fits into the dtype, even where the determinant itself does
 * not. At a singular matrix it is computed as PyTorch does it: pivots that are 0 count as the
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
 * @param a          a[..., n, n]
 * @param sign       set to the signs[...], -1, 0 or 1, borrowed from the scope; or NULL. They have
 *                   no gradient
 * @param logabsdet  set to log(abs(det(a)))[...], borrowed from the scope; or NULL. After a failure
 *                   both are set to NULL
 * @return           ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or ADZ_ERR_MEMORY
 * @grad             a, to any order; saves a and its LU factors
 * @see              torch.linalg.slogdet
 */
ADZ_API adz_status adz_slogdet(adz_tensor *a, adz_tensor **sign, adz_tensor **logabsdet);

/**
 * The QR factors of matrices, by Householder reflections.
 *
 *     a = q r,   q^T q = I,   r upper,   k = min(m, n)
 *
 * The diagonal of r is not negative, which makes the factors of a matrix of full rank unique.
 * PyTorch's signs are those of LAPACK.
 *
 * @param a  a[..., m, n]
 * @param r  set to r[..., k, n], borrowed from the scope; or NULL. After a failure it is set to
 * NULL.
 * @return   q[..., m, k], borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a, to any order, if its first k columns have rank k; the backward gives ADZ_ERR_NUMERIC
 *           if the diagonal of r has a 0; saves q and r
 * @see      torch.linalg.qr (mode "reduced")
 */
ADZ_API adz_tensor *adz_qr(adz_tensor *a, adz_tensor **r);

/** How least squares are computed; the names are PyTorch's. */
typedef enum adz_lstsq_driver {
    ADZ_LSTSQ_GELS = 0, /**< QR factors; refuses a matrix that has no full rank */
    ADZ_LSTSQ_GELSY = 1 /**< any rank; the shortest solution, slower and by singular values */
} adz_lstsq_driver;

/**
 * Least squares: the x for which the norm of a x - b is smallest, and of several the shortest one.
 *
 * The matrices must have full rank to rounding: a matrix is refused if the distance of a column
 * from the space of the columns before it is at most max(m, n) times the rounding error of the
 * dtype (2^-52 or 2^-23) times the column's largest element in r. For m < n, rows take the place of
 * columns. Columns may have different units: their scale does not matter. For other matrices use
 * adz_lstsq_by with ADZ_LSTSQ_GELSY.
 *
 * As in adz_solve, b counts as a batch of vectors if it has one dimension, or the shape of a
 * without the last dimension.
 *
 * @param a  a[..., m, n]
 * @param b  b[..., m, k], or vectors b[..., m]; leading sizes broadcast
 * @return   x[..., n, k], or x[..., n] for vectors, in the promoted dtype, borrowed from the scope,
 *           or NULL
 * @errors   ADZ_ERR_NUMERIC (an item of a has no full rank, or an element that is not finite),
 *           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves a, b, x and the QR factors
 * @see      torch.linalg.lstsq
 */
ADZ_API adz_tensor *adz_lstsq(adz_tensor *a, adz_tensor *b);

/**
 * Least squares by a driver of your choice.
 *
 * ADZ_LSTSQ_GELS is adz_lstsq. ADZ_LSTSQ_GELSY multiplies b by adz_pinv: singular values up to
 * max(m, n) times the rounding error times the largest one count as 0.
 *
 * @param a       a[..., m, n]
 * @param b       b[..., m, k], or vectors b[..., m], as in adz_lstsq
 * @param driver  ADZ_LSTSQ_GELS or ADZ_LSTSQ_GELSY
 * @return        x[..., n, k], or x[..., n] for vectors, in the promoted dtype, borrowed from the
 *                scope, or NULL
 * @errors        ADZ_ERR_ARGUMENT (an unknown driver), ADZ_ERR_NUMERIC (those of adz_lstsq; with
 *                ADZ_LSTSQ_GELSY an element of a that is not finite), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *                ADZ_ERR_MEMORY
 * @grad          a and b, to any order; with ADZ_LSTSQ_GELSY as long as a change of a leaves its
 *                rank as it is
 * @see           torch.linalg.lstsq (driver)
 */
ADZ_API adz_tensor *adz_lstsq_by(adz_tensor *a, adz_tensor *b, adz_lstsq_driver driver);

/**
 * Eigenvalues and eigenvectors of symmetric matrices.
 *
 *     a v[:, i] = w[i] v[:, i],   w ascending,   v^T v = I
 *
 * The element of largest absolute value of each vector, the first one of several, is positive.
 * PyTorch leaves signs to LAPACK. Up to 20 rows (32 in f32) are computed by Jacobi rotations, more
 * by divide and conquer of a tridiagonal matrix. adze computes both itself, with the bits of every
 * processor and in every build.
 *
 * @param a        a[..., n, n], of which one triangle is read
 * @param upper    whether that is the upper one; PyTorch's default is the lower one
 * @param vectors  set to v[..., n, n], borrowed from the scope; or NULL. After a failure it is set
 *                 to NULL.
 * @return         w[..., n], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_NUMERIC (an element is not finite), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *                 ADZ_ERR_MEMORY
 * @grad           a, to any order, symmetric whatever the other triangle holds, which PyTorch's
 *                 gradient of vectors is not; saves w and v. As in PyTorch, the gradient of vectors
 *                 is infinite or NaN where two eigenvalues are equal; that of values is right there
 * @see            torch.linalg.eigh, torch.linalg.eigvalsh
 */
ADZ_API adz_tensor *adz_eigh(adz_tensor *a, bool upper, adz_tensor **vectors);

/**
 * Singular values and vectors.
 *
 *     a = u diag(s) vh,   s descending,   u^T u = vh vh^T = I,   k = min(m, n)
 *
 * The element of largest absolute value of each column of u, the first one of several, is positive.
 * PyTorch leaves signs to LAPACK. If m or n is at most 20 (32 in f32), Jacobi rotations compute
 * the factors, else divide and conquer of a bidiagonal matrix. adze computes both itself, with the
 * bits of every processor and in every build.
 *
 * @param a   a[..., m, n]
 * @param u   set to u[..., m, k], borrowed from the scope; or NULL
 * @param s   set to s[..., k] like u; or NULL
 * @param vh  set to vh[..., k, n] like u; or NULL. After a failure all three are set to NULL
 * @return    ADZ_OK, ADZ_ERR_NUMERIC (an element is not finite), ADZ_ERR_NULL, ADZ_ERR_SHAPE,
 *            ADZ_ERR_DTYPE or ADZ_ERR_MEMORY
 * @grad      a, to any order; saves u, s and vh. As in PyTorch, the gradient of vectors is infinite
 *            or NaN where two singular values are equal, or where one is 0 and m differs from n.
 *            That of values is right there.
 * @see       torch.linalg.svd with full_matrices=False, torch.linalg.svdvals
 */
ADZ_API adz_status adz_svd(adz_tensor *a, adz_tensor **u, adz_tensor **s, adz_tensor **vh);

/**
 * Pseudo-inverses by Moore and Penrose, from singular values.
 *
 * @param a     a[..., m, n]
 * @param rtol  singular values up to rtol times the largest one count as 0; negative for PyTorch's
 *              default, max(m, n) times the rounding error of the dtype (2^-52 or 2^-23)
 * @return      y[..., n, m], borrowed from the scope, or NULL
 * @errors      ADZ_ERR_ARGUMENT (rtol is infinite or NaN), and those of adz_svd
 * @grad        a, to any order, as long as a change of a leaves its rank as it is; saves a and y
 * @see         torch.linalg.pinv
 */
ADZ_API adz_tensor *adz_pinv(adz_tensor *a, double rtol);

/**
 * The ranks of matrices: how many singular values count.
 *
 * @param a     a[..., m, n]
 * @param rtol  singular values up to rtol times the largest one do not count; negative for the
 *              default, as in adz_pinv
 * @return      y[...], i64, without a gradient, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_ARGUMENT (rtol is infinite or NaN), and those of adz_svd
 * @see         torch.linalg.matrix_rank
 */
ADZ_API adz_tensor *adz_matrix_rank(adz_tensor *a, double rtol);

/**
 * Exponentials of matrices, by scaling, a Pade approximant and squaring.
 *
 *     y = I + a + a^2 / 2 + a^3 / 6 + ...
 *
 * @param a  a[..., n, n]
 * @return   y, shaped like a, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a, to any order, by exponentials of matrices of twice the size; saves a
 * @see      torch.linalg.matrix_exp
 */
ADZ_API adz_tensor *adz_matrix_exp(adz_tensor *a);

/**
 * Powers of matrices, by repeated squaring. Negative powers are those of the inverse.
 *
 * @param a  a[..., n, n]
 * @param n  any whole number; 0 gives the identity, without a gradient
 * @return   y, shaped like a, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_NUMERIC (a is singular and n negative), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *           ADZ_ERR_MEMORY
 * @grad     a, to any order; saves a and the squares
 * @see      torch.linalg.matrix_power
 */
ADZ_API adz_tensor *adz_matrix_power(adz_tensor *a, int64_t n);

/**
 * Singular values, the second result of adz_svd.
 *
 * @param a  a[..., m, n]
 * @return   s[..., min(m, n)], descending, borrowed from the scope, or NULL
 * @errors   those of adz_svd
 * @grad     a, to any order; saves the factors
 * @see      torch.linalg.svdvals
 */
ADZ_API adz_tensor *adz_svdvals(adz_tensor *a);

/**
 * Eigenvalues of symmetric matrices, the first result of adz_eigh.
 *
 * @param a      a[..., n, n], of which one triangle is read
 * @param upper  whether that is the upper one; PyTorch's default is the lower one
 * @return       w[..., n], ascending, borrowed from the scope, or NULL
 * @errors       those of adz_eigh
 * @grad         a, to any order; saves values and vectors
 * @see          torch.linalg.eigvalsh
 */
ADZ_API adz_tensor *adz_eigvalsh(adz_tensor *a, bool upper);

/**
 * LU factors with partial pivoting in one matrix, for adz_lu_solve.
 *
 *     p a = l u
 *
 * The upper triangle of y is u, and the elements below it are those of l, whose diagonal is ones. A
 * singular matrix has factors, too: u has a 0 on its diagonal then.
 *
 * @param a       a[..., m, n]
 * @param pivots  set to i64 [..., min(m, n)], borrowed from the scope: step i exchanged the rows i
 *                and pivots[i] - 1, since PyTorch counts from 1; NULL after a failure; may be NULL
 * @return        y[..., m, n], borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order, if its first min(m, n) columns, rows permuted, are regular; the
 *                backward gives ADZ_ERR_NUMERIC else; saves y and the pivots
 * @see           torch.linalg.lu_factor
 */
ADZ_API adz_tensor *adz_lu_factor(adz_tensor *a, adz_tensor **pivots);

/**
 * LU factors with partial pivoting.
 *
 *     a = p l u,   k = min(m, n)
 *
 * @param a  a[..., m, n]
 * @param p  set to the permutations p[..., m, m] in a's dtype, without a gradient, borrowed from
 * the scope; or NULL
 * @param l  set to l[..., m, k], lower with ones on the diagonal; or NULL
 * @param u  set to u[..., k, n], upper; or NULL. After a failure all three are set to NULL
 * @return   ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or ADZ_ERR_MEMORY
 * @grad     a, as in adz_lu_factor
 * @see      torch.linalg.lu
 */
ADZ_API adz_status adz_lu(adz_tensor *a, adz_tensor **p, adz_tensor **l, adz_tensor **u);

/** Options of adz_lu_solve. Start from ADZ_LU_SOLVE_OPTIONS. */
typedef struct adz_lu_solve_options {
    size_t size;  /**< sizeof(adz_lu_solve_options) */
    bool left;    /**< whether a is on the left of x; true */
    bool adjoint; /**< whether the transpose of a takes its place; false */
} adz_lu_solve_options;

/** The defaults. */
#define ADZ_LU_SOLVE_OPTIONS                                                    \
    {                                                                           \
        ADZ_MEMBER(size, sizeof(adz_lu_solve_options)), ADZ_MEMBER(left, true), \
            ADZ_MEMBER(adjoint, false)                                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_lu_solve_options) as the caller knows it
 */
ADZ_API void adz_lu_solve_options_init(adz_lu_solve_options *options, size_t size);

/**
 * Solves systems whose matrix is known by its LU factors.
 *
 *     a x = b     or     x a = b with `left` off
 *
 * @param lu       lu[..., n, n], the result of adz_lu_factor
 * @param pivots   its pivots, i64 or i32 [..., n], 1 .. n
 * @param b        b[..., n, k], or b[..., k, n] with `left` off; leading sizes broadcast
 * @param options  NULL for the defaults
 * @return         x, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_NUMERIC (a is singular; PyTorch's x is infinite then), ADZ_ERR_INDEX (a
 *                 pivot), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a size of the options),
 *                 ADZ_ERR_MEMORY
 * @grad           lu and b, to any order
 * @see            torch.linalg.lu_solve
 */
ADZ_API adz_tensor *adz_lu_solve(
    adz_tensor *lu, adz_tensor *pivots, adz_tensor *b, const adz_lu_solve_options *options);

/** Norms of matrices; PyTorch's `ord`. */
typedef enum adz_matrix_norm_ord {
    ADZ_MATRIX_NORM_FRO = 0,       /**< the root of the sum of squares, PyTorch's default */
    ADZ_MATRIX_NORM_NUC = 1,       /**< the sum of the singular values */
    ADZ_MATRIX_NORM_INF = 2,       /**< the largest sum of absolute values in a row */
    ADZ_MATRIX_NORM_MINUS_INF = 3, /**< the smallest sum of absolute values in a row */
    ADZ_MATRIX_NORM_ONE = 4,       /**< the largest sum of absolute values in a column */
    ADZ_MATRIX_NORM_MINUS_ONE = 5, /**< the smallest sum of absolute values in a column */
    ADZ_MATRIX_NORM_TWO = 6,       /**< the largest singular value */
    ADZ_MATRIX_NORM_MINUS_TWO = 7  /**< the smallest singular value */
} adz_matrix_norm_ord;

/**
 * Norms of matrices.
 *
 * @param a        rank 2 or more, f32 or f64
 * @param ord      which norm
 * @param dims     the dimensions of the rows and of the columns; PyTorch's default is -2 and -1.
 * Norms but those of squares and of singular values' sums need a row and a column
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_ARGUMENT, ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_NUMERIC (an
 *                 element is not finite, for singular values), ADZ_ERR_MEMORY
 * @grad           a, to any order; ties share the gradient
 * @see            torch.linalg.matrix_norm
 */
ADZ_API adz_tensor *adz_matrix_norm(
    adz_tensor *a, adz_matrix_norm_ord ord, adz_dims dims, bool keepdim);

/**
 * Condition numbers of matrices: how far an error of b may grow in the solution of a x = b.
 *
 *     y = norm of a times norm of its inverse; INFINITY for a singular matrix or one with NaN
 *     y = s_max / s_min for ADZ_MATRIX_NORM_TWO, PyTorch's default, and s_min / s_max for
 * MINUS_TWO; NaN for a matrix of zeros
 *
 * @param a    a[..., n, n]; the norms of singular values' quotients also take a[..., m, n]
 * @param ord  which norm
 * @return     y[...], borrowed from the scope, or NULL
 * @errors     ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_NUMERIC (an element is not
 *             finite, for singular values), ADZ_ERR_MEMORY
 * @grad       a, to any order, where it is regular
 * @see        torch.linalg.cond
 */
ADZ_API adz_tensor *adz_linalg_cond(adz_tensor *a, adz_matrix_norm_ord ord);

#ifdef __cplusplus
}
#endif

#endif
