/**
 * @file index.h
 * Operators with tensors of indices.
 *
 * Indices are i64 or i32. All of them are checked before anything changes, and a negative index is
 * an error.
 */
#ifndef ADZE_OPS_INDEX_H
#define ADZE_OPS_INDEX_H

#include "adze/ops/order.h"
#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Picks elements by their indices along one dimension.
 *
 *     y[i][j][k] = x[i][index[i][j][k]][k]   for dim 1
 *
 * @param x      any dtype
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  of x's rank, no size above x's except along dim; 0 .. size of dim - 1
 * @return       y, shaped like index, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves index
 * @see          torch.gather
 */
ADZ_API adz_tensor *adz_gather(adz_tensor *x, int dim, adz_tensor *index);

/**
 * Adds elements at given indices along one dimension.
 *
 *     y = x, then y[i][index[i][j][k]][k] += src[i][j][k]   for dim 1
 *
 * Elements are added in the order of the index. If the index has more than 16 positions along dim,
 * sums of f32 accumulate in f64.
 *
 * @param x      any dtype but f16 and bf16
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  of x's rank, no size above src's, nor above x's except along dim
 * @param src    of x's rank and dtype
 * @return       y, shaped like x, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x and src, to any order; saves index
 * @see          torch.scatter_add
 */
ADZ_API adz_tensor *adz_scatter_add(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src);

/**
 * Adds elements at given indices along one dimension, in place.
 *
 *     x[i][index[i][j][k]][k] += src[i][j][k]   for dim 1
 *
 * Elements are added in the order of the index. If the index has more than 16 positions along dim,
 * sums of f32 accumulate in f64.
 *
 * @param x      any dtype but f16 and bf16
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  of x's rank, no size above src's, nor above x's except along dim
 * @param src    of x's rank and dtype
 * @return       x, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_INPLACE,
 *               ADZ_ERR_MEMORY
 * @grad         x and src, to any order; saves index
 * @see          torch.Tensor.scatter_add_
 */
ADZ_API adz_tensor *adz_scatter_add_(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src);

/**
 * Picks the subtensors at some indices of one dimension, for example rows of a matrix.
 *
 *     y[i][j][k] = x[i][index[j]][k]   for dim 1
 *
 * @param x      rank 1 to 8, any dtype
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  index[n], or a scalar for one subtensor; 0 .. size of dim - 1
 * @return       y, shaped like x but n along dim, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves index
 * @see          torch.index_select
 */
ADZ_API adz_tensor *adz_index_select(adz_tensor *x, int dim, adz_tensor *index);

/** A value of adz_embedding_options.padding_idx that means: every row has a gradient. */
#define ADZ_NO_PADDING INT64_MIN

/** Options of adz_embedding. Start from ADZ_EMBEDDING_OPTIONS. */
typedef struct adz_embedding_options {
    size_t size;             /**< sizeof(adz_embedding_options) */
    int64_t padding_idx;     /**< the row without a gradient; a negative number counts from the
                                  last row; ADZ_NO_PADDING by default */
    bool scale_grad_by_freq; /**< divide a row's gradient by how often ids names it; false */
    bool sparse;             /**< true is ADZ_ERR_UNSUPPORTED: gradients are dense; false */
} adz_embedding_options;

/** The defaults. */
#define ADZ_EMBEDDING_OPTIONS                                                                     \
    {                                                                                             \
        ADZ_MEMBER(size, sizeof(adz_embedding_options)), ADZ_MEMBER(padding_idx, ADZ_NO_PADDING), \
            ADZ_MEMBER(scale_grad_by_freq, false), ADZ_MEMBER(sparse, false)                      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_embedding_options) as the caller knows it
 */
ADZ_API void adz_embedding_options_init(adz_embedding_options *options, size_t size);

/**
 * Looks up rows of a table.
 *
 *     y[..., :] = weight[ids[...], :]
 *
 * The padding row is looked up like any other row, but its gradient is 0. The gradient has the same
 * bits for any number of threads.
 *
 * @param ids      any shape of rank 0 to 7; 0 .. V-1
 * @param weight   weight[V, D], any dtype
 * @param options  NULL for the defaults
 * @return         y[..., D], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_UNSUPPORTED (sparse),
 *                 ADZ_ERR_MEMORY
 * @grad           weight, to any order; saves ids
 * @see            torch.nn.functional.embedding, whose max_norm adze does not have
 */
ADZ_API adz_tensor *adz_embedding(
    adz_tensor *ids, adz_tensor *weight, const adz_embedding_options *options);

/**
 * Turns class numbers into vectors that have a single 1.
 *
 *     y[..., c] = 1 where c = ids[...], else 0
 *
 * @param ids          any shape of rank 0 to 7; 0 .. num_classes-1
 * @param num_classes  1 or more; -1 for the largest id plus 1
 * @return             y[..., num_classes], i64, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad               none
 * @see                torch.nn.functional.one_hot
 */
ADZ_API adz_tensor *adz_one_hot(adz_tensor *ids, int64_t num_classes);

/**
 * Draws classes with probabilities proportional to weights.
 *
 * The draws are not those of PyTorch. They do not depend on the number of threads.
 *
 * @param weights      weights[C] or weights[N, C], f32 or f64, 0 or more and not all 0
 * @param n            draws from each row, 1 or more; without replacement at most as many as a row
 *                     has weights above 0
 * @param replacement  whether a class can be drawn again
 * @param generator    NULL for the default one; a failed call leaves it as it was
 * @return             y[n] or y[N, n], i64, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad               none
 * @see                torch.multinomial
 */
ADZ_API adz_tensor *adz_multinomial(
    adz_tensor *weights, int64_t n, bool replacement, adz_generator *generator);

/**
 * Draws classes from categorical distributions.
 *
 *     P(class c) = softmax(logits)_c
 *
 * The draws are not those of PyTorch. They do not depend on the number of threads. Logits of
 * probabilities are their logarithms.
 *
 * @param logits     logits[..., C], rank 1 to 7, f32 or f64, finite or -INFINITY, of each
 *                   distribution not all -INFINITY
 * @param n          draws from each distribution, 1 or more
 * @param generator  NULL for the default one; a failed call leaves it as it was
 * @return           y[n, ...], i64, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             none
 * @see              torch.distributions.Categorical.sample
 */
ADZ_API adz_tensor *adz_categorical_sample(adz_tensor *logits, int64_t n, adz_generator *generator);

/**
 * The logarithm of the probability of a class in a categorical distribution.
 *
 *     y = log_softmax(logits)[value]
 *
 * @param logits  logits[..., C], f32 or f64, rank 1 or more
 * @param value   classes 0 .. C-1, of an integer dtype; its shape broadcasts with that of logits
 *                without the last dimension, so that value[n, ...] are n draws of each distribution
 * @return        y, the broadcast shape, in logits' dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad          logits, to any order; saves the logarithms of all probabilities
 * @see           torch.distributions.Categorical.log_prob
 */
ADZ_API adz_tensor *adz_categorical_log_prob(adz_tensor *logits, adz_tensor *value);

/**
 * The entropy of a categorical distribution, in nats.
 *
 *     y = - sum over c of p_c log p_c,   p = softmax(logits)
 *
 * A class of probability 0 counts 0.
 *
 * @param logits  logits[..., C], f32 or f64, rank 1 or more
 * @return        y[...], borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          logits, to any order; saves the probabilities and their logarithms
 * @see           torch.distributions.Categorical.entropy
 */
ADZ_API adz_tensor *adz_categorical_entropy(adz_tensor *logits);

/**
 * The positions of all elements that are not 0, in row-major order.
 *
 * The number of rows depends on the elements, so plans and exports refuse the call. adz_where and
 * adz_masked_fill need no positions.
 *
 * @param x  any dtype but f16 and bf16; NaN is not 0
 * @return   y[K, rank], i64, one row per element, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_STATE (in a plan), ADZ_ERR_UNSUPPORTED (in an export),
 * ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.nonzero
 */
ADZ_API adz_tensor *adz_nonzero(adz_tensor *x);

/**
 * The elements at which a mask is true, in row-major order.
 *
 * The number of elements depends on the mask, so plans and exports refuse the call. adz_where and
 * adz_masked_fill keep the shape.
 *
 * @param x     any dtype
 * @param mask  bool; broadcasts with x
 * @return      y[K], borrowed from the scope, or NULL
 * @errors      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_STATE (in a plan), ADZ_ERR_UNSUPPORTED (in an
 *              export), ADZ_ERR_MEMORY
 * @grad        x, to any order; saves the positions
 * @see         torch.masked_select
 */
ADZ_API adz_tensor *adz_masked_select(adz_tensor *x, adz_tensor *mask);

/**
 * Picks elements by their indices along one dimension. Other dimensions broadcast.
 *
 *     y[i][j][k] = x[i][indices[i][j][k]][k]   for dim 1
 *
 * @param x        rank 1 or more, any dtype
 * @param indices  of x's rank, i64 or i32; 0 .. size of dim - 1
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves indices
 * @see            torch.take_along_dim
 */
ADZ_API adz_tensor *adz_take_along_dim(adz_tensor *x, adz_tensor *indices, int dim);

/**
 * How often each number occurs, or the sum of the weights of each number.
 *
 *     y[v] = the number of i with x[i] = v, or the sum of weights[i] over them
 *
 * The size depends on the elements, so plans and exports refuse the call. adz_scatter_add sums into
 * a tensor of a given size.
 *
 * @param x          x[n], i64, i32 or u8, 0 or more
 * @param weights    weights[n], any dtype but f16 and bf16, or ADZ_NONE to count
 * @param minlength  the least size of y, 0 or more; PyTorch's default is 0
 * @return           y[max(minlength, 1 + the largest element)], i64 without weights, f32 for f32
 *                   weights, else f64; borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT, ADZ_ERR_STATE
 *                   (in a plan), ADZ_ERR_UNSUPPORTED (in an export), ADZ_ERR_MEMORY
 * @grad             weights, to any order, which PyTorch does not have; saves x
 * @see              torch.bincount
 */
ADZ_API adz_tensor *adz_bincount(adz_tensor *x, adz_tensor *weights, int64_t minlength);

/**
 * Writes or adds values at coordinates.
 *
 *     y = x, then y[i_0[k], i_1[k], ...] = values[k], or += values[k]
 *
 * The indices count along the first dimensions of x and broadcast with each other. A bool mask
 * counts for as many dimensions as it has and stands for the coordinates where it is true. To index
 * other dimensions, permute x first. If values are written and some coordinates are equal, the last
 * value stays. Sums of floats run in f64.
 *
 * @param x           any dtype but f16 and bf16
 * @param indices     n tensors: i64 or i32, 0 .. size of their dimension - 1, or bool masks, which
 *                    plans and exports refuse, because the number of coordinates depends on them;
 *                    adz_where and adz_masked_fill need none
 * @param n           1 to rank of x
 * @param values      in x's dtype; broadcasts to the shape of the indices followed by the
 *                    dimensions of x that are not indexed
 * @param accumulate  true to add, false to write; PyTorch's default is false
 * @return            y, shaped like x, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_STATE
 *                    (a mask in a plan), ADZ_ERR_UNSUPPORTED (a mask in an export), ADZ_ERR_MEMORY
 * @grad              x and values, to any order; a value that another one has replaced has gradient
 *                    0; saves the coordinates
 * @see               torch.index_put
 */
ADZ_API adz_tensor *adz_index_put(
    adz_tensor *x, adz_tensor *const *indices, size_t n, adz_tensor *values, bool accumulate);

/**
 * Writes or adds values at coordinates, in place.
 *
 *     x[i_0[k], i_1[k], ...] = values[k], or += values[k]
 *
 * The indices count along the first dimensions of x and broadcast with each other. A bool mask
 * counts for as many dimensions as it has and stands for the coordinates where it is true. If
 * values are written and some coordinates are equal, the last value stays. Sums of floats run in
 * f64.
 *
 * @param x           any dtype but f16 and bf16
 * @param indices     n tensors: i64 or i32, 0 .. size of their dimension - 1, or bool masks, which
 *                    plans and exports refuse
 * @param n           1 to rank of x
 * @param values      in x's dtype; broadcasts to the shape of the indices followed by the
 *                    dimensions of x that are not indexed; may share memory with x
 * @param accumulate  true to add, false to write; PyTorch's default is false
 * @return            x, or NULL
 * @errors            ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX,
 *                    ADZ_ERR_INPLACE, ADZ_ERR_STATE (a mask in a plan), ADZ_ERR_UNSUPPORTED (a mask
 *                    in an export), ADZ_ERR_MEMORY
 * @grad              x and values, to any order; a value that another one has replaced has gradient
 *                    0; saves the coordinates
 * @see               torch.Tensor.index_put_
 */
ADZ_API adz_tensor *adz_index_put_(
    adz_tensor *x, adz_tensor *const *indices, size_t n, adz_tensor *values, bool accumulate);

/**
 * Writes elements at given indices along one dimension.
 *
 *     y = x, then y[i][index[i][j][k]][k] = src[i][j][k]   for dim 1
 *
 * Where several elements are written to one position, the last one in the order of the index stays.
 *
 * @param x      any dtype but f16 and bf16
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  of x's rank, no size above src's, nor above x's except along dim
 * @param src    of x's rank and dtype
 * @return       y, shaped like x, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x and src, to any order; an element that another one has replaced has gradient 0,
 *               where PyTorch's gradient is that of the position; saves index
 * @see          torch.scatter
 */
ADZ_API adz_tensor *adz_scatter(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src);

/** How elements with one index become one number; the names are PyTorch's. */
typedef enum adz_scatter_reduction {
    ADZ_SCATTER_SUM = 0,  /**< their sum */
    ADZ_SCATTER_PROD = 1, /**< their product */
    ADZ_SCATTER_MEAN = 2, /**< their mean */
    ADZ_SCATTER_AMAX = 3, /**< the largest one; NaN if one is NaN */
    ADZ_SCATTER_AMIN = 4  /**< the smallest one; NaN if one is NaN */
} adz_scatter_reduction;

/**
 * Reduces the elements that an index sends to one position along a dimension.
 *
 *     y[i][l][k] = x[i][l][k] and all src[i][j][k] with index[i][j][k] = l, reduced   for dim 1
 *
 * Positions that no index names keep the element of x. Elements are taken in the order of the
 * index. Sums are those of adz_scatter_add.
 *
 * @param x             any dtype but f16 and bf16; f32 or f64 for means
 * @param dim           0 .. rank-1, or -rank .. -1 counted from the last
 * @param index         of x's rank, no size above src's, nor above x's except along dim
 * @param src           of x's rank and dtype
 * @param reduce        a sum, a product, a mean, or the largest or smallest element
 * @param include_self  whether x is one of the elements where an index points; PyTorch's default is
 *                      true
 * @return              y, shaped like x, borrowed from the scope, or NULL
 * @errors              ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_MEMORY
 * @grad                x and src, to any order; ties of the largest and smallest elements share the
 *                      gradient. Without include_self, x has no share at the indices, and the
 *                      elements of src have all of it; in PyTorch they have less if x equals them.
 *                      Products with zeros have exact first and second derivatives, of
 *                      which PyTorch lacks the second. Saves index, and x, src and y for products
 * and extremes
 * @see                 torch.scatter_reduce
 */
ADZ_API adz_tensor *adz_scatter_reduce(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src,
    adz_scatter_reduction reduce, bool include_self);

/**
 * Adds subtensors at some indices of one dimension.
 *
 *     y = x, then y[i][index[j]][k] += alpha source[i][j][k]   for dim 1
 *
 * More than 16 numbers of f32 are summed in f64, in the order of the index.
 *
 * @param x       rank 1 or more, any dtype but f16 and bf16
 * @param dim     0 .. rank-1, or -rank .. -1 counted from the last
 * @param index   index[n], or a scalar for one subtensor; 0 .. size of dim - 1
 * @param source  of x's dtype, shaped like x but n along dim
 * @param alpha   the factor, a whole number for integers and 1 for bool; PyTorch's default is 1
 * @return        y, shaped like x, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT,
 *                ADZ_ERR_MEMORY
 * @grad          x and source, to any order; saves index
 * @see           torch.index_add
 */
ADZ_API adz_tensor *adz_index_add(
    adz_tensor *x, int dim, adz_tensor *index, adz_tensor *source, double alpha);

/**
 * Writes subtensors at some indices of one dimension.
 *
 *     y = x, then y[i][index[j]][k] = source[i][j][k]   for dim 1
 *
 * Where an index occurs twice, the last subtensor stays.
 *
 * @param x       rank 1 or more, any dtype but f16 and bf16
 * @param dim     0 .. rank-1, or -rank .. -1 counted from the last
 * @param index   index[n], or a scalar for one subtensor; 0 .. size of dim - 1
 * @param source  of x's dtype, shaped like x but n along dim
 * @return        y, shaped like x, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad          x and source, to any order; a subtensor that another one has replaced has gradient
 *                0, where PyTorch's gradient is that of the position; saves index
 * @see           torch.index_copy
 */
ADZ_API adz_tensor *adz_index_copy(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *source);

/**
 * Writes one number to all subtensors at some indices of one dimension.
 *
 *     y = x, then y[i][index[j]][k] = value   for dim 1
 *
 * @param x      rank 1 or more, any dtype but f16 and bf16
 * @param dim    0 .. rank-1, or -rank .. -1 counted from the last
 * @param index  index[n], or a scalar for one subtensor; 0 .. size of dim - 1
 * @param value  converted to x's dtype
 * @return       y, shaped like x, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves index
 * @see          torch.index_fill
 */
ADZ_API adz_tensor *adz_index_fill(adz_tensor *x, int dim, adz_tensor *index, double value);

/**
 * Picks elements by their positions in row-major order.
 *
 *     y[...] = x.flat[index[...]]
 *
 * @param x      any shape and dtype
 * @param index  any shape, 0 .. numel - 1; PyTorch's negative ones are refused
 * @return       y, shaped like index, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves index
 * @see          torch.take
 */
ADZ_API adz_tensor *adz_take(adz_tensor *x, adz_tensor *index);

#ifdef __cplusplus
}
#endif

#endif
