/**
 * @file linalg.h
 * Matrix products, and through decomposition.h torch.linalg's solvers and factorisations.
 */
#ifndef ADZE_OPS_LINALG_H
#define ADZE_OPS_LINALG_H

#include "adze/ops/decomposition.h"
#include "adze/random.h"
#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Matrix product.
 *
 *     y[..., m, n] = a[..., m, k] b[..., k, n]
 *
 * A vector counts as a row on the left and as a column on the right, and its dimension is removed
 * from the result. Leading dimensions broadcast. Transposed operands are read without a copy.
 *
 * If one operand is f32, the other one may be f16 or bf16. It is widened while it is read, so the
 * result has the bits of a product with adz_to(b, ADZ_F32), without that copy.
 *
 * @param a  rank 1 to 8; f32, f64, i32, i64 or u8
 * @param b  rank 1 to 8; its inner size k is that of a
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves each where the other wants a gradient
 * @see      torch.matmul
 */
ADZ_API adz_tensor *adz_matmul(adz_tensor *a, adz_tensor *b);

/**
 * Affine map of the last dimension: a linear layer.
 *
 *     y[..., H] = x[..., D] w[H, D]^T + b[H]
 *
 * Blocks of Q8_0 (adz_quantize_q8_0) are widened while they are read, too. The result has the bits
 * of a product with adz_dequantize_q8_0(weight).
 *
 * @param x       rank 1 to 8, f32 or f64
 * @param weight  w[H, D], of x's dtype; with an f32 x also f16 or bf16, as in adz_matmul, or blocks
 *                of Q8_0, u8[H, D / 32, 34]
 * @param bias    b[H] of x's dtype, or ADZ_NONE
 * @return        y, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x, weight and bias, to any order; saves x and weight where needed
 * @see           torch.nn.functional.linear
 */
ADZ_API adz_tensor *adz_linear(adz_tensor *x, adz_tensor *weight, adz_tensor *bias);

/**
 * A linear layer with a ReLU after it, as one operator. It passes over the result once and saves
 * one matrix less than adz_relu(adz_linear(x, weight, bias)). ADZ_SEQUENTIAL uses it for a Linear
 * that is followed by a ReLU.
 *
 *     y[..., H] = max(0, x[..., D] w[H, D]^T + b[H])
 *
 * @param x       x[..., D], rank 1 to 8, f32 or f64
 * @param weight  w[H, D] or blocks of Q8_0, as in adz_linear
 * @param bias    b[H] of x's dtype, or ADZ_NONE
 * @return        y, with the bits of adz_relu(adz_linear(x, weight, bias)), borrowed from the
 *                scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x, weight and bias, to any order; saves y, and x and weight where needed
 * @see           torch.nn.intrinsic.LinearReLU
 */
ADZ_API adz_tensor *adz_linear_relu(adz_tensor *x, adz_tensor *weight, adz_tensor *bias);

/**
 * A linear layer with a ReLU and a dropout after it, as one operator. The backward needs no mask:
 * it reads from y which elements were dropped.
 *
 *     y[..., H] = max(0, x[..., D] w[H, D]^T + b[H]) mask / (1 - p), mask = 1 with probability 1 -
 * p
 *
 * @param x          x[..., D], rank 1 to 8, f32 or f64
 * @param weight     w[H, D], of x's dtype
 * @param bias       b[H], or ADZ_NONE
 * @param p          probability of zeroing an element, in [0, 1]
 * @param training   whether dropout acts
 * @param generator  drawn from unless p is 0 or 1; NULL for the default one
 * @return           y, with the bits of the three operators, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (p), ADZ_ERR_MEMORY
 * @grad             x, weight and bias, to any order; saves y, and x and weight where needed
 * @see              torch.nn.functional.dropout
 */
ADZ_API adz_tensor *adz_linear_relu_dropout(adz_tensor *x, adz_tensor *weight, adz_tensor *bias,
    double p, bool training, adz_generator *generator);

/**
 * The sum of a tensor and a matrix product.
 *
 *     y[m, n] = beta c + alpha a[m, k] b[k, n]
 *
 * With beta 0 the values of c are ignored, NaN included.
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
 * A bilinear form of two vectors for each output.
 *
 *     y[..., o] = sum_ij x1[..., i] weight[o, i, j] x2[..., j] + bias[o]
 *
 * The outer products of x1 and x2 are in memory at a time, I J elements for each pair of vectors.
 *
 * @param x1      x1[..., I], f32 or f64
 * @param x2      x2[..., J], with the leading sizes of x1
 * @param weight  weight[O, I, J]
 * @param bias    bias[O], or ADZ_NONE
 * @return        y[..., O], borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          all, to any order; saves all but the bias, and the outer products
 * @see           torch.nn.functional.bilinear
 */
ADZ_API adz_tensor *adz_bilinear(
    adz_tensor *x1, adz_tensor *x2, adz_tensor *weight, adz_tensor *bias);

/**
 * The outer product: each element of one vector times each element of another.
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
 * Sums of products of one or two tensors whose dimensions are named by letters: "bqd,bkd->bqk".
 *
 * Letters after "->" are the dimensions of the result. Sums run over all other letters. A letter
 * that occurs twice in one operand takes the diagonal. "..." stands for the dimensions without a
 * letter, which broadcast. Sizes of 1 broadcast too. Without "->" the result has the dimensions of
 * "..." and then the letters that occur once, in the order of the alphabet (capitals first).
 *
 * A sum over a letter that both operands have is computed as a matrix product, without copying
 * operands whose strides allow it.
 *
 * @param equation  letters, commas, "..." and "->"; blanks are skipped
 * @param a         the first operand
 * @param b         the second operand, or ADZ_NONE
 * @return          y in the promoted dtype, borrowed from the scope, or NULL; with one operand it
 *                  may be a view of a, or a itself
 * @errors          ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad            a and b, to any order; saves each where the other wants a gradient
 * @see             torch.einsum
 */
ADZ_API adz_tensor *adz_einsum(const char *equation, adz_tensor *a, adz_tensor *b);

/**
 * The sum of the diagonal of a matrix.
 *
 * @param x  x[m, n], any dtype but f16 and bf16
 * @return   a scalar in x's dtype, i64 for integers and bool; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.trace
 */
ADZ_API adz_tensor *adz_trace(adz_tensor *x);

/**
 * The Kronecker product.
 *
 *     y[i p + k] = a[i] b[k] in each dimension, where b has p elements
 *
 * @param a  rank 0 to 4, any dtype but f16 and bf16
 * @param b  rank 0 to 4; missing dimensions in front count as 1
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order
 * @see      torch.kron
 */
ADZ_API adz_tensor *adz_kron(adz_tensor *a, adz_tensor *b);

/**
 * The cross product of vectors of three elements.
 *
 * @param a    rank 1 or more with 3 elements in dim, any dtype but f16, bf16 and bool
 * @param b    of a's rank, with 3 elements in dim; other dimensions broadcast
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last (PyTorch's default is -1)
 * @return     y in the promoted dtype, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       a and b, to any order
 * @see        torch.linalg.cross
 */
ADZ_API adz_tensor *adz_cross(adz_tensor *a, adz_tensor *b, int dim);

/**
 * Sums products over pairs of dimensions.
 *
 *     y[i, j] = sum over k of a[i, k] b[k, j], where i, j and k may be several dimensions
 *
 * @param a       any rank
 * @param b       any rank, of a's dtype as in adz_matmul
 * @param a_dims  dimensions of a to sum over, none twice; none gives all products
 * @param b_dims  as many of b, each as large as its partner
 * @return        the other dimensions of a, then those of b; borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a and b, to any order
 * @see           torch.tensordot
 */
ADZ_API adz_tensor *adz_tensordot(adz_tensor *a, adz_tensor *b, adz_dims a_dims, adz_dims b_dims);

/**
 * The lower triangle of matrices; zeros elsewhere.
 *
 *     y[..., r, c] = x[..., r, c] where c <= r + diagonal, else 0
 *
 * @param x         x[..., rows, columns], any dtype
 * @param diagonal  the last diagonal that is kept: 0 is the main one, positive ones are above it
 * @return          a new tensor, borrowed from the scope, or NULL
 * @errors          ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad            x, to any order; saves nothing
 * @see             torch.tril
 */
ADZ_API adz_tensor *adz_tril(adz_tensor *x, int64_t diagonal);

/**
 * The upper triangle of matrices; zeros elsewhere.
 *
 *     y[..., r, c] = x[..., r, c] where c >= r + diagonal, else 0
 *
 * @param x         x[..., rows, columns], any dtype
 * @param diagonal  the first diagonal that is kept: 0 is the main one, positive ones are above it
 * @return          a new tensor, borrowed from the scope, or NULL
 * @errors          ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad            x, to any order; saves nothing
 * @see             torch.triu
 */
ADZ_API adz_tensor *adz_triu(adz_tensor *x, int64_t diagonal);

/**
 * The diagonal of the matrices in two dimensions. It is the last dimension of the result.
 *
 *     y[..., k] = x[..., k, k + offset], or x[..., k - offset, k] for a negative offset
 *
 * A diagonal outside of the matrices is empty.
 *
 * @param x       rank 2 to 8, any dtype
 * @param offset  0 is the main diagonal, positive ones are above it; PyTorch's default is 0
 * @param dim1    the dimension of the rows, 0 .. rank-1, or -rank .. -1 counted from the last;
 *                PyTorch's default is 0
 * @param dim2    the dimension of the columns, another one than dim1; PyTorch's default is 1
 * @return        a view without dim1 and dim2 and with a new last dimension, borrowed from the
 *                scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad          x, to any order; saves nothing
 * @see           torch.diagonal
 */
ADZ_API adz_tensor *adz_diagonal(adz_tensor *x, int64_t offset, int dim1, int dim2);

/**
 * The diagonal of a matrix, or the square matrix of zeros with a vector on a diagonal.
 *
 *     y[k] = x[k, k + offset], or x[k - offset, k] for a negative offset    if x is a matrix
 *     y[k, k + offset] = x[k], or y[k - offset, k] = x[k]                   if x is a vector
 *
 * @param x       x[rows, columns] or x[n], any dtype
 * @param offset  0 is the main diagonal, positive ones are above it; PyTorch's default is 0
 * @return        a new tensor, for a vector y[n + |offset|, n + |offset|], borrowed from the scope,
 *                or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad          x, to any order; saves nothing
 * @see           torch.diag
 */
ADZ_API adz_tensor *adz_diag(adz_tensor *x, int64_t offset);

/**
 * Matrices of zeros with vectors on a diagonal: the reverse of adz_diagonal.
 *
 *     y[..., k, k + offset] = x[..., k], or y[..., k - offset, k] = x[..., k] for a negative offset
 *
 * @param x       x[..., n] of rank 1 to 7, any dtype
 * @param offset  0 is the main diagonal, positive ones are above it; PyTorch's default is 0
 * @param dim1    the dimension of the rows in y; PyTorch's default is -2
 * @param dim2    the dimension of the columns in y, another one; PyTorch's default is -1
 * @return        a new tensor with n + |offset| rows and columns, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad          x, to any order; saves nothing
 * @see           torch.diag_embed
 */
ADZ_API adz_tensor *adz_diag_embed(adz_tensor *x, int64_t offset, int dim1, int dim2);

/**
 * The dot products of vectors along a dimension.
 *
 *     y = sum over dim of a b
 *
 * @param a    any dtype but f16 and bf16; broadcasts with b
 * @param b    any dtype but f16 and bf16
 * @param dim  a dimension of the broadcast shape; PyTorch's default is -1
 * @return     y in the promoted dtype, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       a and b, to any order
 * @see        torch.linalg.vecdot
 */
ADZ_API adz_tensor *adz_vecdot(adz_tensor *a, adz_tensor *b, int dim);

/**
 * The p-norm over dimensions: adz_norm under PyTorch's other name.
 *
 * @param x        as in adz_norm
 * @param ord      p of adz_norm
 * @param dims     the dimensions, or ADZ_ALL_DIMS
 * @param keepdim  whether they stay with size 1
 * @return         the norms, borrowed from the scope, or NULL with the error of adz_norm
 * @grad           x, as adz_norm
 * @see            torch.linalg.vector_norm
 */
ADZ_API adz_tensor *adz_vector_norm(adz_tensor *x, double ord, adz_dims dims, bool keepdim);

/**
 * The p-norm of a difference.
 *
 *     y = norm of a - b over all elements, as adz_norm has it
 *
 * @param a  f32 or f64; broadcasts with b
 * @param b  f32 or f64
 * @param p  any number but NaN; PyTorch's default is 2
 * @return   a scalar, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad     a and b, to any order
 * @see      torch.dist
 */
ADZ_API adz_tensor *adz_dist(adz_tensor *a, adz_tensor *b, double p);

/**
 * The distances between all pairs of rows: adz_cdist of x with itself, without the pairs that
 * follow from others.
 *
 *     y = distances of rows (0, 1), (0, 2), ..., (0, N - 1), (1, 2), ...
 *
 * @param x  x[N, D], f32 or f64
 * @param p  0 or more; PyTorch's default is 2
 * @return   y[N (N - 1) / 2], borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.nn.functional.pdist
 */
ADZ_API adz_tensor *adz_pdist(adz_tensor *x, double p);

/**
 * The covariances of variables, each of which is a row.
 *
 *     y = sum_k w_k (x_k - m) (x_k - m)^T / divisor,   m = sum_k w_k x_k / sum_k w_k
 *     divisor = sum_k w_k - correction sum_k w_k a_k / sum_k w_k,   a = aweights, or 1
 *
 * w is fweights times aweights, or 1 without weights. A divisor below 0 counts as 0, which gives
 * infinity or NaN, as in PyTorch.
 *
 * @param x           x[variables, observations], or x[observations] of one variable, f32 or f64
 * @param fweights    how often each observation counts, i64 or i32 [observations], 0 or more; or
 *                    ADZ_NONE
 * @param aweights    the importance of each observation, of x's dtype [observations], 0 or more; or
 *                    ADZ_NONE
 * @param correction  subtracted from the number of observations; PyTorch's default is 1
 * @return            y[variables, variables], or a scalar for one variable, borrowed from
 *                    the scope, or NULL
 * @errors            ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x and aweights, to any order
 * @see               torch.cov
 */
ADZ_API adz_tensor *adz_cov(
    adz_tensor *x, adz_tensor *fweights, adz_tensor *aweights, int64_t correction);

/**
 * The correlations of variables, each of which is a row, limited to -1 .. 1.
 *
 *     y_ij = sum_k u_ik u_jk,   u_i = (x_i - mean of x_i) / its norm
 *
 * @param x  x[variables, observations], or x[observations] of one variable, f32 or f64
 * @return   y[variables, variables], or a scalar for one variable, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.corrcoef
 */
ADZ_API adz_tensor *adz_corrcoef(adz_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
