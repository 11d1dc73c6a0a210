/**
 * @file reduction.h
 * Reductions over dimensions.
 */
#ifndef ADZE_OPS_REDUCTION_H
#define ADZE_OPS_REDUCTION_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sum over dimensions.
 *
 *     y = sum x
 *
 * Sums of f32 accumulate in f64, in an order that depends on the shape only. So 2^25 ones add up to
 * 2^25, for any number of threads.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to sum over, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, i64 for integers and bool; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.sum
 */
ADZ_API adz_tensor *adz_sum(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * Mean over dimensions.
 *
 *     y = sum(x) / n
 *
 * A mean that fits is right although the sum overflows, where torch.mean is infinite.
 *
 * @param x        any shape, f32 or f64
 * @param dims     dimensions to average over, or ADZ_ALL_DIMS; the mean of no elements is NaN
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves nothing
 * @see            torch.mean
 */
ADZ_API adz_tensor *adz_mean(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * Variance over dimensions.
 *
 *     y = sum((x - mean)^2) / (n - correction)
 *
 * The result is accurate for large means too: f64 deviations are taken from the mean of 512
 * elements at a time.
 *
 * A variance that fits is right although a sum of squares overflows, where torch.var is infinite.
 *
 * @param x           any shape, f32 or f64
 * @param dims        dimensions to take the variance over, or ADZ_ALL_DIMS
 * @param correction  1 for the unbiased estimate, 0 for the population's; where n - correction is
 *                    not positive the result is NaN or infinite
 * @param keepdim     ADZ_KEEPDIM or ADZ_DROPDIM
 * @return            y, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x, to any order; saves x
 * @see               torch.var
 */
ADZ_API adz_tensor *adz_var(adz_tensor *x, adz_dims dims, double correction, bool keepdim);

/**
 * Standard deviation over dimensions.
 *
 *     y = sqrt(sum((x - mean)^2) / (n - correction))
 *
 * The gradient is 0 where y is 0.
 *
 * A deviation that fits is right although its square overflows, where torch.std is infinite.
 *
 * @param x           any shape, f32 or f64
 * @param dims        dimensions to take the deviation over, or ADZ_ALL_DIMS
 * @param correction  1 for the unbiased estimate, 0 for the population's; where n - correction is
 *                    not positive the result is NaN or infinite
 * @param keepdim     ADZ_KEEPDIM or ADZ_DROPDIM
 * @return            y, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x, to any order; saves x and the result
 * @see               torch.std
 */
ADZ_API adz_tensor *adz_std(adz_tensor *x, adz_dims dims, double correction, bool keepdim);

/**
 * Vector norm over dimensions.
 *
 *     y = (sum |x|^p)^(1/p)
 *     y = max |x|               for p = INFINITY
 *     y = min |x|               for p = -INFINITY
 *     y = the count of x != 0   for p = 0
 *
 * The gradient is 0 where y is 0, and for p < 1 also where x is 0. For infinite p, ties share the
 * gradient evenly. Powers that overflow or underflow do no harm: y and its gradients are right
 * wherever they can be represented.
 *
 * @param x        any shape, f32 or f64
 * @param p        any number but NaN
 * @param dims     dimensions to reduce, or ADZ_ALL_DIMS; none of size 0 when p is negative or
 *                 infinite
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *                 ADZ_ERR_MEMORY
 * @grad           x, to any order; saves x and the result
 * @see            torch.linalg.vector_norm
 */
ADZ_API adz_tensor *adz_norm(adz_tensor *x, double p, adz_dims dims, bool keepdim);

/**
 * The logarithm of the summed exponentials over dimensions, without overflow or underflow.
 *
 *     y = log(sum exp(x))
 *
 * The result is -inf for no elements, and where all elements are -inf. In the latter case the
 * gradient is NaN, as in PyTorch.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to reduce, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, or f32 if that is not a float; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves x and the result
 * @see            torch.logsumexp
 */
ADZ_API adz_tensor *adz_logsumexp(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The largest of all elements.
 *
 * NaN counts as the largest. Ties share the gradient evenly.
 *
 * @param x  one element or more, any dtype but f16 and bf16
 * @return   a scalar in x's dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x and the result
 * @see      torch.max
 */
ADZ_API adz_tensor *adz_max(adz_tensor *x);

/**
 * The largest elements along one dimension, and where they are.
 *
 * NaN counts as the largest. Of equal elements the first one counts and gets the whole gradient.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last; its size is not 0
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param indices  receives the indices of these elements along dim, i64, borrowed from the scope;
 *                 may be NULL
 * @return         the values of these elements in x's dtype, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.max with dim
 */
ADZ_API adz_tensor *adz_max_dim(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices);

/**
 * The largest elements over dimensions.
 *
 * NaN counts as the largest. Ties share the gradient evenly.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to reduce, none of size 0, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves x and the result
 * @see            torch.amax
 */
ADZ_API adz_tensor *adz_amax(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The index of the largest element, along one dimension or among all.
 *
 * NaN counts as the largest. Of equal elements the first one counts.
 *
 * @param x        any shape, any dtype but f16, bf16 and bool
 * @param dims     one dimension whose size is not 0; or ADZ_ALL_DIMS, and the index then counts the
 *                 elements in row-major order
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         indices, i64, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM (also for several dimensions), ADZ_ERR_SHAPE (no elements),
 *                 ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           none
 * @see            torch.argmax
 */
ADZ_API adz_tensor *adz_argmax(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The smallest of all elements.
 *
 * NaN counts as the smallest. Ties share the gradient evenly.
 *
 * @param x  one element or more, any dtype but f16 and bf16
 * @return   a scalar in x's dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x and the result
 * @see      torch.min
 */
ADZ_API adz_tensor *adz_min(adz_tensor *x);

/**
 * The smallest elements along one dimension, and where they are.
 *
 * NaN counts as the smallest. Of equal elements the first one counts and gets the whole gradient.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last; its size is not 0
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param indices  receives the indices of these elements along dim, i64, borrowed from the scope;
 *                 may be NULL
 * @return         the values of these elements in x's dtype, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.min with dim
 */
ADZ_API adz_tensor *adz_min_dim(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices);

/**
 * The smallest elements over dimensions.
 *
 * NaN counts as the smallest. Ties share the gradient evenly.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to reduce, none of size 0, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE (no elements), ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves x and the result
 * @see            torch.amin
 */
ADZ_API adz_tensor *adz_amin(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The index of the smallest element, along one dimension or among all.
 *
 * NaN counts as the smallest. Of equal elements the first one counts.
 *
 * @param x        any shape, any dtype but f16, bf16 and bool
 * @param dims     one dimension whose size is not 0; or ADZ_ALL_DIMS, and the index then counts the
 *                 elements in row-major order
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         indices, i64, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM (also for several dimensions), ADZ_ERR_SHAPE (no elements),
 *                 ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           none
 * @see            torch.argmin
 */
ADZ_API adz_tensor *adz_argmin(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * Whether at least one element along dimensions is not 0.
 *
 * @param x        any shape, any dtype but f16 and bf16; NaN is not 0
 * @param dims     dimensions to reduce, or ADZ_ALL_DIMS; false for no elements
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         bool (u8 for u8, as in PyTorch), borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           none
 * @see            torch.any
 */
ADZ_API adz_tensor *adz_any(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * Whether all elements along dimensions are not 0.
 *
 * @param x        any shape, any dtype but f16 and bf16; NaN is not 0
 * @param dims     dimensions to reduce, or ADZ_ALL_DIMS; true for no elements
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         bool (u8 for u8, as in PyTorch), borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           none
 * @see            torch.all
 */
ADZ_API adz_tensor *adz_all(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * Running sum along one dimension.
 *
 *     y_i = sum_{j <= i} x_j
 *
 * @param x    any shape, any dtype but f16 and bf16; f32 is summed in f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, in x's dtype, i64 for integers and bool; borrowed from the scope,
 *             or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves nothing
 * @see        torch.cumsum
 */
ADZ_API adz_tensor *adz_cumsum(adz_tensor *x, int dim);

/**
 * Product over dimensions.
 *
 *     y = prod x
 *
 * @param x        any shape, any dtype but f16 and bf16; f32 is multiplied in f64
 * @param dims     dimensions to multiply over, or ADZ_ALL_DIMS; the product of nothing is 1
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, i64 for integers and bool; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order, also where elements are 0; saves x
 * @see            torch.prod
 */
ADZ_API adz_tensor *adz_prod(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The middle element along one dimension: the lower one of two.
 *
 * A slice with a NaN gives NaN. The gradient goes to the element that was taken.
 *
 * @param x        any dtype but f16 and bf16, one element or more along dim
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param indices  receives the index of each element along dim, i64, borrowed from the scope; may
 * be NULL
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.median
 */
ADZ_API adz_tensor *adz_median(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices);

/** What a quantile is between two elements. */
typedef enum adz_quantile_rule {
    ADZ_QUANTILE_LINEAR = 0,   /**< on the line between them, PyTorch's default */
    ADZ_QUANTILE_LOWER = 1,    /**< the lower one */
    ADZ_QUANTILE_HIGHER = 2,   /**< the higher one */
    ADZ_QUANTILE_MIDPOINT = 3, /**< their mean */
    ADZ_QUANTILE_NEAREST = 4   /**< the nearer one, or the one at the even position */
} adz_quantile_rule;

/**
 * The quantile along one dimension.
 *
 *     y = x at the position q (n - 1) of the sorted slice, whose elements have the positions 0 .. n
 * - 1
 *
 * A slice with a NaN gives NaN. As in PyTorch the position is computed in x's dtype, but in f64 for
 * more than 2^24 elements.
 *
 * @param x        f32 or f64, one element or more along dim
 * @param q        0 for the smallest to 1 for the largest element; 0.5 for the middle
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param rule     what counts between two elements
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices of the sorted elements
 * @see            torch.quantile
 */
ADZ_API adz_tensor *adz_quantile(
    adz_tensor *x, double q, int dim, bool keepdim, adz_quantile_rule rule);

/**
 * Several quantiles along one dimension, which share one sort.
 *
 *     y[k] = adz_quantile of x for q[k]
 *
 * In an exported file a q outside 0 .. 1 gives NaN.
 *
 * @param x        f32 or f64, one element or more along dim
 * @param q        q[K] or rank 0, in x's dtype, each from 0 to 1
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param rule     what counts between two elements
 * @return         y[K, ...] with the shape that adz_quantile gives for x in place of the dots, or
 *                 without K for q of rank 0; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x and, for ADZ_QUANTILE_LINEAR, q; to any order; saves the indices of the sorted
 *                 elements
 * @see            torch.quantile with a tensor q
 */
ADZ_API adz_tensor *adz_quantiles(
    adz_tensor *x, adz_tensor *q, int dim, bool keepdim, adz_quantile_rule rule);

/**
 * Running products along one dimension.
 *
 *     y_i = x_0 x_1 ... x_i
 *
 * @param x    any dtype but f16 and bf16; multiplied from the first element on
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, in x's dtype, i64 for integers and bool; borrowed from the scope,
 *             or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order, also where elements are 0; saves x and y
 * @see        torch.cumprod
 */
ADZ_API adz_tensor *adz_cumprod(adz_tensor *x, int dim);

/**
 * How many elements are not 0. NaN is not 0.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to count over, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y, i64, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @see            torch.count_nonzero
 */
ADZ_API adz_tensor *adz_count_nonzero(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The mean over dimensions of the elements that are not NaN; NaN where there is none.
 *
 * A mean that fits is right although the sum overflows, where torch.nanmean is infinite.
 *
 * @param x        any shape, f32 or f64
 * @param dims     dimensions to average over, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; 0 at NaN
 * @see            torch.nanmean
 */
ADZ_API adz_tensor *adz_nanmean(adz_tensor *x, adz_dims dims, bool keepdim);

/**
 * The logarithms of running sums of exponentials along one dimension, without overflow.
 *
 *     y_i = log(exp(x_0) + ... + exp(x_i))
 *
 * @param x    any shape, f32 or f64
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad       x, to any order
 * @see        torch.logcumsumexp
 */
ADZ_API adz_tensor *adz_logcumsumexp(adz_tensor *x, int dim);

/**
 * The sum over dimensions of the elements that are not NaN.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dims     dimensions to sum over, or ADZ_ALL_DIMS
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @return         y in x's dtype, i64 for integers and bool; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; 0 at NaN
 * @see            torch.nansum
 */
ADZ_API adz_tensor *adz_nansum(adz_tensor *x, adz_dims dims, bool keepdim);

#ifdef __cplusplus
}
#endif

#endif
