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

/**
 * Repeats a tensor along its dimensions. Missing numbers in front count as 1.
 *
 * @param x     any shape and dtype
 * @param dims  number of copies along each dimension, 0 or more; further numbers in front make new
 *              dimensions
 * @return      a new tensor, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.tile
 */
ADZ_API adz_tensor *adz_tile(adz_tensor *x, adz_shape dims);

/** A tensor in the shape to which it broadcasts: adz_expand under PyTorch's other name.
 * @param x      any dtype
 * @param shape  as in adz_expand
 * @return       a view, borrowed from the scope, or NULL with the error of adz_expand
 * @see          torch.broadcast_to */
ADZ_API adz_tensor *adz_broadcast_to(adz_tensor *x, adz_shape shape);

/**
 * Rotates the plane of two dimensions by a multiple of 90 degrees.
 *
 * @param x     rank 2 or more, any dtype
 * @param k     how many times; positive ones turn from the first dimension towards the second
 * @param dims  two dimensions; PyTorch's default is 0 and 1
 * @return      a new tensor, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.rot90
 */
ADZ_API adz_tensor *adz_rot90(adz_tensor *x, int64_t k, adz_dims dims);

/**
 * Moves dimensions to other positions. The other dimensions keep their order.
 *
 * @param x            any dtype
 * @param source       the dimensions to move, none twice
 * @param destination  their positions in the result, as many, none twice
 * @return             a view, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.movedim
 */
ADZ_API adz_tensor *adz_movedim(adz_tensor *x, adz_dims source, adz_dims destination);

/**
 * Stacks sequences of several lengths, filled up to the longest one.
 *
 * @param sequences    x[T_i, ...], equal in dtype and in all dimensions but the first
 * @param n            1 to 65535
 * @param batch_first  whether the sequences count along the first dimension of the result, or along
 *                     the second one, PyTorch's default
 * @param value        what fills the rest; PyTorch's default is 0
 * @param left         whether the rest comes before a sequence; PyTorch's padding_side is "right",
 *                     behind it
 * @return             y[n, T, ...] or y[T, n, ...], borrowed from the scope, or NULL
 * @errors             ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad               each sequence, to any order; saves nothing
 * @see                torch.nn.utils.rnn.pad_sequence
 */
ADZ_API adz_tensor *adz_pad_sequence(
    adz_tensor *const *sequences, size_t n, bool batch_first, double value, bool left);

/**
 * The sequences of a tensor that adz_pad_sequence has made with the rest behind them.
 *
 * @param x            x[n, T, ...] or x[T, n, ...], any dtype
 * @param lengths      n lengths, 0 .. T
 * @param n            the sequences of x
 * @param batch_first  whether they count along the first dimension; PyTorch's default is false
 * @param out          room for n views, borrowed from the scope; NULL in all positions on failure
 * @return             ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE or ADZ_ERR_MEMORY
 * @grad               x, to any order; saves nothing
 * @see                torch.nn.utils.rnn.unpad_sequence
 */
ADZ_API adz_status adz_unpad_sequence(
    adz_tensor *x, const int64_t *lengths, size_t n, bool batch_first, adz_tensor **out);

#ifdef __cplusplus
}
#endif

#endif
