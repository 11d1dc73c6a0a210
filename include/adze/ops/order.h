/**
 * @file order.h
 * Operators that rest on the order of elements: sorting, searching, extremes so far, and what
 * occurs how often.
 *
 * NaN counts as the largest element of all, unless a comment says otherwise.
 */
#ifndef ADZE_OPS_ORDER_H
#define ADZE_OPS_ORDER_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The k largest or smallest elements of each slice along a dimension, sorted,
 * as with sorted=True in PyTorch.
 *
 * NaN counts as the largest of all. Of equal elements the one with the lower index comes first.
 *
 * @param x        any dtype but f16 and bf16
 * @param k        0 .. size of dim; a scalar has one element, which it also returns for 0, as in
 *                 PyTorch
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param largest  true for the largest, false for the smallest
 * @param indices  receives the indices of the elements along dim, i64, borrowed from the scope; may
 *                 be NULL
 * @return         the elements, shaped like x but k along dim, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_ARGUMENT, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.topk
 */
ADZ_API adz_tensor *adz_topk(adz_tensor *x, int64_t k, int dim, bool largest, adz_tensor **indices);

/**
 * Sorts each slice along a dimension.
 *
 * The order is stable: equal elements keep their order, descending as well. NaN counts as the
 * largest of all.
 *
 * @param x           any dtype but f16 and bf16
 * @param dim         0 .. rank-1, or -rank .. -1 counted from the last
 * @param descending  true for the largest first
 * @param indices     receives the indices of the elements along dim, i64, borrowed from the scope;
 *                    may be NULL
 * @return            the elements, shaped like x, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad              x, to any order; saves the indices
 * @see               torch.sort
 */
ADZ_API adz_tensor *adz_sort(adz_tensor *x, int dim, bool descending, adz_tensor **indices);

/**
 * The indices that sort each slice along a dimension, as adz_sort gives them.
 *
 * @param x           any dtype but f16 and bf16
 * @param dim         0 .. rank-1, or -rank .. -1 counted from the last
 * @param descending  true for the largest first
 * @return            i64, shaped like x, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad              none
 * @see               torch.argsort
 */
ADZ_API adz_tensor *adz_argsort(adz_tensor *x, int dim, bool descending);

/**
 * Where values belong in sorted slices, so that the slices stay sorted.
 *
 *     y = the number of elements e of the slice with e < value, or e <= value if `right`
 *
 * NaN counts as the largest of all, as adz_sort has it. The slices are checked in each call, which
 * takes one pass over them: search for many values in one call.
 *
 * @param sorted  sorted[n] for values of any shape, or sorted[..., n] with a slice for each row of
 *                values; ascending; any dtype but f16 and bf16
 * @param values  values[..., m] in sorted's dtype, with the leading sizes of sorted
 * @param right   false for the position before elements that equal the value, PyTorch's default;
 *                true for the one behind them
 * @return        i64, shaped like values, 0 .. n, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a slice is not sorted),
 *                ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.searchsorted, torch.bucketize
 */
ADZ_API adz_tensor *adz_searchsorted(adz_tensor *sorted, adz_tensor *values, bool right);

/**
 * Where values belong in slices that are given with the order of their elements.
 *
 *     y = adz_searchsorted of the slice x[sorter[0]], x[sorter[1]], ...
 *
 * Use it with the result of adz_argsort, when the positions have to stay those of another tensor.
 * PyTorch does not look whether the slices ascend in this order.
 *
 * @param x       x[n] for values of any shape, or x[..., n] with a slice for each row of values;
 * any dtype but f16 and bf16
 * @param sorter  shaped like x, i64 or i32; 0 .. n-1: the indices that sort each slice
 * @param values  values[..., m] in x's dtype, with the leading sizes of x
 * @param right   false for the position before elements that equal the value, PyTorch's default;
 *                true for the one behind them
 * @return        i64, shaped like values, 0 .. n, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT (a slice does not
 *                ascend in this order), ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.searchsorted with sorter
 */
ADZ_API adz_tensor *adz_searchsorted_by(
    adz_tensor *x, adz_tensor *sorter, adz_tensor *values, bool right);

/**
 * The distinct elements of a tensor in ascending order.
 *
 *     x[i] = y[inverse[i]]
 *
 * 0 and -0 are equal. Each NaN is an element of its own, as in PyTorch. The number of elements
 * depends on x, so plans and exports refuse the call.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param inverse  receives the index in y of each element, i64, shaped like x, borrowed from the
 *                 scope; NULL after a failure; may be NULL
 * @param counts   receives how often each value occurs, i64, shaped like y, borrowed from the
 * scope; NULL after a failure; may be NULL
 * @return         y[K], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DTYPE, ADZ_ERR_STATE (in a plan), ADZ_ERR_UNSUPPORTED (in an export),
 *                 ADZ_ERR_MEMORY
 * @grad           x, to any order: the gradient of a value goes to its first occurrence, where
 *                 PyTorch has an error; saves indices
 * @see            torch.unique
 */
ADZ_API adz_tensor *adz_unique(adz_tensor *x, adz_tensor **inverse, adz_tensor **counts);

/**
 * The distinct subtensors along one dimension, such as the distinct rows of a matrix for dim 0.
 *
 *     subtensor i of x = subtensor inverse[i] of y
 *
 * Subtensors are in ascending order of their first elements, then of their second ones, and so on
 * in row-major order. 0 and -0 are equal. NaN is the largest, and a subtensor with a NaN equals no
 * other one. The number of subtensors depends on x, so plans and exports refuse the call.
 *
 * @param x        rank 1 or more, any dtype but f16 and bf16; subtensors of one element or more
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param inverse  receives the index in y of each subtensor, i64 [size of dim], borrowed from
 *                 the scope; NULL after a failure; may be NULL
 * @param counts   receives how often each subtensor occurs, i64 [K], borrowed from the scope;
 *                 NULL after a failure; may be NULL
 * @return         y, shaped like x with K subtensors along dim, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_STATE (in a plan),
 *                 ADZ_ERR_UNSUPPORTED (in an export), ADZ_ERR_MEMORY
 * @grad           x, to any order: the gradient of a subtensor goes to its first occurrence,
 *                 where PyTorch has an error; saves indices
 * @see            torch.unique with dim
 */
ADZ_API adz_tensor *adz_unique_dim(
    adz_tensor *x, int dim, adz_tensor **inverse, adz_tensor **counts);

/**
 * A tensor without the elements that equal the one before them, in row-major order.
 *
 *     x[i] = y[inverse[i]]
 *
 * Each NaN differs from every element. The number of elements depends on x, so plans and exports
 * refuse the call.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param inverse  receives the index in y of each element, i64, shaped like x, borrowed from the
 *                 scope; NULL after a failure; may be NULL
 * @param counts   receives how many elements each one of y stands for, i64, shaped like y, borrowed
 *                 from the scope; NULL after a failure; may be NULL
 * @return         y[K], borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DTYPE, ADZ_ERR_STATE (in a plan), ADZ_ERR_UNSUPPORTED (in an export),
 *                 ADZ_ERR_MEMORY
 * @grad           x, to any order: the gradient of a run goes to its first element, where PyTorch
 *                 has an error; saves indices
 * @see            torch.unique_consecutive
 */
ADZ_API adz_tensor *adz_unique_consecutive(
    adz_tensor *x, adz_tensor **inverse, adz_tensor **counts);

/**
 * A tensor without the subtensors along a dimension that equal the one before them, such as
 * repeated rows for dim 0.
 *
 *     subtensor i of x = subtensor inverse[i] of y
 *
 * A subtensor with a NaN differs from every other one. The number of subtensors depends on x, so
 * plans and exports refuse the call.
 *
 * @param x        rank 1 or more, any dtype but f16 and bf16; subtensors of one element or more
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param inverse  receives the index in y of each subtensor, i64 [size of dim], borrowed from the
 *                 scope; NULL after a failure; may be NULL
 * @param counts   receives how many subtensors each one of y stands for, i64 [K], borrowed from the
 *                 scope; NULL after a failure; may be NULL
 * @return         y, shaped like x with K subtensors along dim, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_STATE (in a plan),
 *                 ADZ_ERR_UNSUPPORTED (in an export), ADZ_ERR_MEMORY
 * @grad           x, to any order: the gradient of a run goes to its first subtensor, where PyTorch
 *                 has an error; saves indices
 * @see            torch.unique_consecutive with dim
 */
ADZ_API adz_tensor *adz_unique_consecutive_dim(
    adz_tensor *x, int dim, adz_tensor **inverse, adz_tensor **counts);

/**
 * The k-th smallest element of each slice along a dimension.
 *
 * Of equal elements the one with the lower index comes first if k is in the lower half of the
 * slice, else the one with the higher index. PyTorch leaves this open.
 *
 * @param x        any dtype but f16 and bf16
 * @param k        1 .. size of dim; a scalar has one element
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last; PyTorch's default is -1
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param indices  receives the index of each element along dim, i64, borrowed from the scope; may
 * be NULL
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_ARGUMENT, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.kthvalue
 */
ADZ_API adz_tensor *adz_kthvalue(
    adz_tensor *x, int64_t k, int dim, bool keepdim, adz_tensor **indices);

/**
 * The element that occurs most often in each slice along a dimension; the smallest of several.
 *
 * Each NaN differs from every element.
 *
 * @param x        any dtype but f16 and bf16, one element or more along dim
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last; PyTorch's default is -1
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM
 * @param indices  receives the index along dim where each result occurs first, i64, borrowed from
 *                 the scope; may be NULL. PyTorch gives the index of any occurrence
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order: that of the indices; saves the indices
 * @see            torch.mode
 */
ADZ_API adz_tensor *adz_mode(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices);

/**
 * The largest element so far along a dimension.
 *
 *     y_i = max(x_0, ..., x_i)
 *
 * Of equal elements the last one counts, and from the first NaN on every result is NaN.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param indices  receives the index of each result along dim, i64, shaped like x, borrowed from
 * the scope; may be NULL
 * @return         y, shaped like x, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.cummax
 */
ADZ_API adz_tensor *adz_cummax(adz_tensor *x, int dim, adz_tensor **indices);

/**
 * The smallest element so far along a dimension.
 *
 *     y_i = min(x_0, ..., x_i)
 *
 * Of equal elements the last one counts, and from the first NaN on every result is NaN.
 *
 * @param x        any shape, any dtype but f16 and bf16
 * @param dim      0 .. rank-1, or -rank .. -1 counted from the last
 * @param indices  receives the index of each result along dim, i64, shaped like x, borrowed from
 * the scope; may be NULL
 * @return         y, shaped like x, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad           x, to any order; saves the indices
 * @see            torch.cummin
 */
ADZ_API adz_tensor *adz_cummin(adz_tensor *x, int dim, adz_tensor **indices);

/**
 * How many elements lie in each of some bins of equal width.
 *
 *     y[b] = the number of x with min + b w <= x < min + (b + 1) w,   w = (max - min) / bins
 *
 * The last bin has its upper end, too. Elements outside of min .. max and NaN are not counted. If
 * min and max are equal, they stand for the smallest and the largest element, and where these are
 * equal, too, for one less and one more than they are. Positions are computed in x's dtype, so an
 * element may be counted beside the end of a bin that rounding has moved, as in PyTorch.
 *
 * @param x     any shape, f32 or f64
 * @param bins  1 or more; PyTorch's default is 100
 * @param min   finite; PyTorch's default is 0
 * @param max   finite, not below min; PyTorch's default is 0
 * @return      y[bins] in x's dtype, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_NUMERIC (an element is not finite, and min
 *              equals max), ADZ_ERR_MEMORY
 * @grad        none
 * @see         torch.histc
 */
ADZ_API adz_tensor *adz_histc(adz_tensor *x, int64_t bins, double min, double max);

#ifdef __cplusplus
}
#endif

#endif
