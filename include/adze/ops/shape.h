/**
 * @file shape.h
 * Changes of shape. Results are views wherever the strides allow.
 */
#ifndef ADZE_OPS_SHAPE_H
#define ADZE_OPS_SHAPE_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Swaps two dimensions.
 *
 * @param x     any shape and dtype
 * @param dim0  0 .. rank-1, or -rank .. -1 counted from the last
 * @param dim1  0 .. rank-1, or -rank .. -1 counted from the last
 * @return      a view, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.transpose
 */
ADZ_API adz_tensor *adz_transpose(adz_tensor *x, int dim0, int dim1);

/**
 * The elements of a tensor in another shape, copied only where the strides demand it.
 *
 * @param x      any shape and dtype
 * @param shape  as many elements as x; one size may be -1 and is computed
 * @return       a view where the strides allow, else a copy; borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.reshape
 */
ADZ_API adz_tensor *adz_reshape(adz_tensor *x, adz_shape shape);

/**
 * Repeats dimensions of size 1 without copying, and adds dimensions in front.
 *
 * @param x      any shape and dtype
 * @param shape  x broadcasts to it; -1 keeps a size
 * @return       a view, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.Tensor.expand
 */
ADZ_API adz_tensor *adz_expand(adz_tensor *x, adz_shape shape);

/**
 * Reorders all dimensions.
 *
 * @param x     any shape and dtype
 * @param dims  each dimension of x once; dimension i of the result is dims[i] of x
 * @return      a view, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.permute
 */
ADZ_API adz_tensor *adz_permute(adz_tensor *x, adz_dims dims);

/**
 * Adds a dimension of size 1.
 *
 * @param x    rank 0 to 7, any dtype
 * @param dim  its position in the result: 0 .. rank, or -rank-1 .. -1 counted from the last
 * @return     a view, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves nothing
 * @see        torch.unsqueeze
 */
ADZ_API adz_tensor *adz_unsqueeze(adz_tensor *x, int dim);

/**
 * Removes a dimension if its size is 1.
 *
 * @param x    any shape and dtype
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     a view, or x itself when the size is not 1; borrowed from the scope; or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves nothing
 * @see        torch.squeeze
 */
ADZ_API adz_tensor *adz_squeeze(adz_tensor *x, int dim);

/**
 * Removes every dimension of size 1.
 *
 * @param x  any shape and dtype
 * @return   a view, or x itself when there is none; borrowed from the scope; or NULL
 * @errors   ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.squeeze
 */
ADZ_API adz_tensor *adz_squeeze_all(adz_tensor *x);

/**
 * Every step-th element of one dimension, from start up to but not including end.
 *
 * Bounds follow Python: a negative bound counts from the end, and bounds beyond the size are moved
 * to it.
 *
 * @param x      rank 1 to 8, any dtype
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param start  first element
 * @param end    bound, not included; INT64_MAX for all the rest
 * @param step   1 or more
 * @return       a view, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          x[start:end:step] in PyTorch
 */
ADZ_API adz_tensor *adz_slice(adz_tensor *x, int dim, int64_t start, int64_t end, int64_t step);

/**
 * The slice of a tensor at one index of a dimension. The result does not have that dimension.
 *
 * @param x      rank 1 to 8, any dtype
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  0 .. size-1, or -size .. -1 counted from the last
 * @return       a view, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.select
 */
ADZ_API adz_tensor *adz_select(adz_tensor *x, int dim, int64_t index);

/**
 * Joins tensors along a dimension that they have.
 *
 * Dtypes promote. A vector without elements is skipped, whatever the shape of the other tensors. If
 * all tensors are such vectors, the result is one too.
 *
 * @param tensors  n tensors, rank 1 to 8; sizes equal except along dim
 * @param n        1 to 65535
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @return         a new tensor, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad           each tensor, to any order; saves nothing
 * @see            torch.cat
 */
ADZ_API adz_tensor *adz_cat(adz_tensor *const *tensors, size_t n, int dim);

/**
 * Cuts a dimension into pieces of one size. The last piece is smaller where the size does not
 * divide the dimension.
 *
 * The pieces are results of one call, so one backward joins their gradients.
 *
 * @param x      rank 1 to 8, any dtype
 * @param size   size of a piece, 1 or more; 0 only where the dimension has size 0
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param out    receives ceil(size of dim / size) views, at least one, borrowed from the scope;
 *               NULL in all positions on failure
 * @param room   how many views out has room for
 * @param count  receives the number of views; may be NULL
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_DIM, ADZ_ERR_ARGUMENT (also too little room) or
 *               ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.split
 */
ADZ_API adz_status adz_split(
    adz_tensor *x, int64_t size, int dim, adz_tensor **out, size_t room, size_t *count);

/**
 * Cuts a dimension into pieces of given sizes.
 *
 * @param x      rank 1 to 8, any dtype
 * @param sizes  n sizes, 0 or more, that sum to the size of dim
 * @param n      1 to 65535
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param out    receives n views, borrowed from the scope; NULL in all positions on failure
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_DIM, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.split with a list
 */
ADZ_API adz_status adz_split_sizes(
    adz_tensor *x, const int64_t *sizes, size_t n, int dim, adz_tensor **out);

/**
 * Surrounds a tensor with a value.
 *
 * @param x      any shape and dtype
 * @param pads   n/2 pairs (before, after): the first pair for the last dimension, the second pair
 *               for the dimension before it, and so on; negative numbers crop
 * @param n      even, at most twice the rank
 * @param value  the value of the new elements
 * @return       a new tensor, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.nn.functional.pad in constant mode
 */
ADZ_API adz_tensor *adz_pad(adz_tensor *x, const int64_t *pads, size_t n, double value);

/** What surrounds a tensor. */
typedef enum adz_padding_mode {
    ADZ_PADDING_ZEROS = 0, /**< zeros */
    ADZ_PADDING_REFLECT =
        1, /**< the tensor mirrored at its first and last element: c b|a b c|b a */
    ADZ_PADDING_REPLICATE = 2, /**< the first and the last element: a a|a b c|c c */
    ADZ_PADDING_CIRCULAR = 3   /**< the other end of the tensor: b c|a b c|a b */
} adz_padding_mode;

/**
 * Surrounds a tensor with its own elements.
 *
 * @param x     any dtype that adz_cat takes
 * @param pads  n/2 pairs (before, after): the first pair for the last dimension, the second pair
 *              for the dimension before it, and so on; 0 or more. With ADZ_PADDING_REFLECT below
 * the size of the dimension, with ADZ_PADDING_CIRCULAR at most this size. Negative numbers crop
 * with ADZ_PADDING_ZEROS only
 * @param n     even, at most twice the rank
 * @param mode  ADZ_PADDING_ZEROS does what adz_pad does with the value 0
 * @return      a new tensor, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.nn.functional.pad in the modes reflect, replicate and circular
 */
ADZ_API adz_tensor *adz_pad_mode(
    adz_tensor *x, const int64_t *pads, size_t n, adz_padding_mode mode);

/**
 * The elements of a tensor in another shape, never copied.
 *
 * @param x      any shape and dtype
 * @param shape  as many elements as x; one size may be -1 and is computed
 * @return       a view, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE (also where x's strides would need a copy: use adz_reshape),
 *               ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.Tensor.view
 */
ADZ_API adz_tensor *adz_view(adz_tensor *x, adz_shape shape);

/**
 * Joins neighbouring dimensions into one. A scalar becomes a vector.
 *
 * @param x      any shape and dtype
 * @param start  the first dimension to join, 0 .. rank-1, or -rank .. -1 counted from the last
 * @param end    the last dimension to join, not before start, 0 .. rank-1, or -rank .. -1 counted
 *               from the last
 * @return       a view where the strides allow, else a copy; borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.flatten
 */
ADZ_API adz_tensor *adz_flatten(adz_tensor *x, int start, int end);

/**
 * A range of a dimension, given by its start and length. Bounds beyond the size are an error.
 *
 * @param x       rank 1 to 8, any dtype
 * @param dim     0 .. rank-1, or -rank .. -1 counted from the last
 * @param start   first index, 0 .. size, or -size .. -1 counted from the last
 * @param length  number of indices, 0 .. size - start
 * @return        a view, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DIM, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad          x, to any order; saves nothing
 * @see           torch.narrow
 */
ADZ_API adz_tensor *adz_narrow(adz_tensor *x, int dim, int64_t start, int64_t length);

/**
 * Joins tensors of one shape along a new dimension.
 *
 * @param tensors  n tensors of one shape, rank 0 to 7; dtypes promote
 * @param n        1 to 65535
 * @param dim      position of the new dimension: 0 .. rank, or -rank-1 .. -1 counted from the last
 * @return         a new tensor, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad           each tensor, to any order; saves nothing
 * @see            torch.stack
 */
ADZ_API adz_tensor *adz_stack(adz_tensor *const *tensors, size_t n, int dim);

/**
 * Cuts a dimension into a number of pieces, each of ceil(size / chunks). The last piece may be
 * smaller, and there may be fewer pieces than asked for.
 *
 * @param x       rank 1 to 8, any dtype
 * @param chunks  1 to 65535
 * @param dim     0 .. rank-1, or -rank .. -1 counted from the last
 * @param out     room for `chunks` views, borrowed from the scope; NULL in all positions on failure
 * @param count   receives the number of pieces; may be NULL
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_DIM, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 * @grad          x, to any order; saves nothing
 * @see           torch.chunk
 */
ADZ_API adz_status adz_chunk(
    adz_tensor *x, int64_t chunks, int dim, adz_tensor **out, size_t *count);

/**
 * The slices of a tensor at every index of a dimension. The results do not have that dimension.
 *
 * @param x      rank 1 to 8, any dtype
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param out    receives as many views as dim is long, borrowed from the scope; NULL in all
 * positions on failure
 * @param room   how many views out has room for
 * @param count  receives the number of views; may be NULL
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_DIM, ADZ_ERR_ARGUMENT (also too little room) or
 *               ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.unbind
 */
ADZ_API adz_status adz_unbind(adz_tensor *x, int dim, adz_tensor **out, size_t room, size_t *count);

/**
 * Reverses the order along dimensions.
 *
 * @param x     any shape and dtype
 * @param dims  dimensions to reverse, each at most once, or ADZ_ALL_DIMS
 * @return      a new tensor, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.flip
 */
ADZ_API adz_tensor *adz_flip(adz_tensor *x, adz_dims dims);

/**
 * Repeats a tensor along its dimensions, and along new dimensions in front.
 *
 * @param x        any shape and dtype
 * @param repeats  number of copies along each dimension; further numbers in front make new
 *                 dimensions
 * @return         a new tensor, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.Tensor.repeat
 */
ADZ_API adz_tensor *adz_repeat(adz_tensor *x, adz_shape repeats);

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
 * Moves elements along a dimension. Elements that leave it at one end come in at the other end.
 *
 *     y_i = x_((i - shift) mod n),   n the size of dim
 *
 * @param x      rank 1 to 8, any dtype
 * @param shift  any number; a positive one moves elements towards higher indices
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @return       a new tensor, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.roll
 */
ADZ_API adz_tensor *adz_roll(adz_tensor *x, int64_t shift, int dim);

/**
 * Repeats each element along a dimension.
 *
 *     y_i = x_(i / repeats),   rounded down
 *
 * @param x        rank 1 to 7, any dtype
 * @param repeats  0 or more
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @return         a new tensor, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.repeat_interleave
 */
ADZ_API adz_tensor *adz_repeat_interleave(adz_tensor *x, int64_t repeats, int dim);

/**
 * Makes rows and columns of channels: r * r channels become one that is r times as high and wide.
 *
 *     y[n][c][h r + i][w r + j] = x[n][c r r + i r + j][h][w]
 *
 * @param x               x[..., C r r, H, W] of rank 3 to 6, any dtype
 * @param upscale_factor  r, 1 or more
 * @return                y[..., C, H r, W r], borrowed from the scope, or NULL
 * @errors                ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad                  x, to any order; saves nothing
 * @see                   torch.nn.functional.pixel_shuffle
 */
ADZ_API adz_tensor *adz_pixel_shuffle(adz_tensor *x, int64_t upscale_factor);

/**
 * Makes channels of rows and columns: the reverse of adz_pixel_shuffle.
 *
 *     y[n][c r r + i r + j][h][w] = x[n][c][h r + i][w r + j]
 *
 * @param x                 x[..., C, H r, W r] of rank 3 to 6, any dtype
 * @param downscale_factor  r, 1 or more
 * @return                  y[..., C r r, H, W], borrowed from the scope, or NULL
 * @errors                  ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad                    x, to any order; saves nothing
 * @see                     torch.nn.functional.pixel_unshuffle
 */
ADZ_API adz_tensor *adz_pixel_unshuffle(adz_tensor *x, int64_t downscale_factor);

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

/** The order of the first two dimensions of a grid. */
typedef enum adz_meshgrid_indexing {
    ADZ_MESHGRID_IJ = 0, /**< the first vector along the rows, the second along the columns */
    ADZ_MESHGRID_XY = 1  /**< the first vector along the columns, the second along the rows */
} adz_meshgrid_indexing;

/**
 * The coordinates of a grid of points.
 *
 *     y_k[i_0, i_1, ...] = x_k[i_k]     ADZ_MESHGRID_IJ; ADZ_MESHGRID_XY swaps i_0 and i_1 of y
 *
 * @param tensors   n vectors or scalars of one dtype; vector k gives its size to dimension k
 * @param n         1 to 8
 * @param indexing  PyTorch's "ij" or "xy"
 * @param out       receives n views of one shape, borrowed from the scope; NULL in all positions on
 *                  failure
 * @return          ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or
 *                  ADZ_ERR_MEMORY
 * @grad            each tensor, to any order; saves nothing
 * @see             torch.meshgrid
 */
ADZ_API adz_status adz_meshgrid(
    adz_tensor *const *tensors, size_t n, adz_meshgrid_indexing indexing, adz_tensor **out);

#ifdef __cplusplus
}
#endif

#endif
