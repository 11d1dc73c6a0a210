/**
 * @file tensor.h
 * Tensors: shapes, reading and writing elements, comparing, printing, making new ones.
 *
 * A new tensor is *borrowed* from the innermost open scope of the thread and lives until that scope
 * is closed. Take a reference of your own with adz_keep and end it with adz_release (scope.h).
 *
 * @code
 * adz_scope *scope = adz_scope_open();
 * adz_tensor *x = adz_linspace(0, 1, 5, ADZ_F32);
 * adz_tensor *y = adz_keep(adz_add_number(adz_square(x), 1)); // the square ends with the scope
 * adz_scope_close(scope);
 * adz_tensor_print(y, stdout);
 * adz_release(&y);
 * @endcode
 */
#ifndef ADZE_TENSOR_H
#define ADZE_TENSOR_H

#include <stdio.h>

#include "adze/base.h"
#include "adze/scope.h"
#include "adze/sequences.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/** Sizes, outermost first. Made with ADZ_SHAPE or adz_shape_of. */
typedef struct adz_shape {
    int rank;                    /**< 0 to 8; -1 marks an invalid shape, which every call refuses */
    int64_t sizes[ADZ_MAX_RANK]; /**< each 0 or more */
} adz_shape;

/** A list of dimensions, each counted from the front (0 ...) or the back (-1 ...). */
typedef struct adz_dims {
    int count; /**< 0 to 8; -1 means every dimension; -2 marks a list that is too long */
    int dims[ADZ_MAX_RANK]; /**< the dimensions */
} adz_dims;

/**
 * A shape from an array.
 *
 * @param rank   0 to 8
 * @param sizes  `rank` sizes, outermost first; may be NULL for rank 0
 * @return       the shape; its rank is -1 when `rank` is out of range
 */
ADZ_API adz_shape adz_shape_of(int rank, const int64_t *sizes);

/**
 * A list of dimensions from an array.
 *
 * @param count  0 to 8; 0 means every dimension, as PyTorch's empty list does
 * @param dims   `count` dimensions; may be NULL for count 0
 * @return       the list; its count is -2 when `count` is out of range
 */
ADZ_API adz_dims adz_dims_of(int count, const int *dims);

#ifdef __cplusplus
}
/** A shape from its sizes: ADZ_SHAPE(64, 8). */
#define ADZ_SHAPE(...) (adz_shape_list({ __VA_ARGS__ }))
/** A list of dimensions: ADZ_DIMS(0, -1). */
#define ADZ_DIMS(...) (adz_dims_list({ __VA_ARGS__ }))
/** Makes a shape from a braced list. ADZ_SHAPE calls it in C++. */
static inline adz_shape adz_shape_list(std::initializer_list<int64_t> sizes)
{
    return adz_shape_of((int)sizes.size(), sizes.begin());
}
/** Makes a list of dimensions from a braced list. ADZ_DIMS calls it in C++. */
static inline adz_dims adz_dims_list(std::initializer_list<int> dims)
{
    return adz_dims_of((int)dims.size(), dims.begin());
}
extern "C" {
#else
/** A shape from its sizes: ADZ_SHAPE(64, 8). */
#define ADZ_SHAPE(...)                                                        \
    adz_shape_of((int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), \
        (const int64_t[]){ __VA_ARGS__ })
/** A list of dimensions: ADZ_DIMS(0, -1). */
#define ADZ_DIMS(...) \
    adz_dims_of((int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (const int[]){ __VA_ARGS__ })
#endif

/** The shape of a tensor with one element and no dimensions. */
#define ADZ_SHAPE_SCALAR (adz_shape_of(0, NULL))
/** Stands for every dimension of a tensor. */
#define ADZ_ALL_DIMS (adz_dims_of(0, NULL))
/** For reductions: keep each reduced dimension as one of size 1. */
#define ADZ_KEEPDIM true
/** For reductions: remove each reduced dimension. */
#define ADZ_DROPDIM false

/* ---- what a tensor is --------------------------------------------------------------------- */

/**
 * The number of a tensor's dimensions.
 *
 * @param t  any tensor
 * @return   0 to 8; -1 when t is NULL
 */
ADZ_API int adz_tensor_rank(const adz_tensor *t);

/**
 * The sizes of a tensor.
 *
 * @param t  any tensor
 * @return   the shape; rank -1 when t is NULL
 */
ADZ_API adz_shape adz_tensor_shape(const adz_tensor *t);

/**
 * The size of one dimension.
 *
 * @param t    any tensor
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     the size; -1 with ADZ_ERR_DIM or ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_tensor_size(const adz_tensor *t, int dim);

/**
 * The stride of one dimension: how many elements apart two neighbours along it are in memory.
 *
 * @param t    any tensor
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     the stride; -1 with ADZ_ERR_DIM or ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_tensor_stride(const adz_tensor *t, int dim);

/**
 * The number of a tensor's elements.
 *
 * @param t  any tensor
 * @return   the product of the sizes; -1 when t is NULL
 */
ADZ_API int64_t adz_tensor_numel(const adz_tensor *t);

/**
 * The dtype of a tensor's elements.
 *
 * @param t  any tensor
 * @return   the dtype; ADZ_F32 with ADZ_ERR_NULL recorded when t is NULL
 */
ADZ_API adz_dtype adz_tensor_dtype(const adz_tensor *t);

/**
 * Whether the elements follow each other in memory in row-major order, without gaps.
 *
 * @param t  any tensor
 * @return   false when t is NULL
 */
ADZ_API bool adz_tensor_is_contiguous(const adz_tensor *t);

/**
 * A pointer to the first element. The other elements follow at the tensor's strides.
 *
 * The checks of in-place changes do not see writes through this pointer. Write before the tensor
 * takes part in a graph, or call adz_tensor_touch afterwards.
 *
 * @param t  any tensor
 * @return   a pointer valid as long as the storage lives; NULL when t is NULL
 */
ADZ_API void *adz_tensor_data(adz_tensor *t);

/**
 * A pointer to the first element, for values that hardly ever change and that the program acts on.
 * It may also be used in a function that a plan captures (adze/plan.h): the plan is made again when
 * the tensor has been written by a function of adze, or after adz_tensor_touch. Elements that the
 * captured function computes itself are not constant: the pointer is valid, but ADZ_ERR_STATE is
 * recorded, and the function cannot be captured. A function that is exported may call it for
 * parameters, buffers and constants, but not for inputs and results.
 *
 * @param t  any tensor
 * @return   a pointer valid as long as the storage lives; NULL when t is NULL, and with
 *           ADZ_ERR_UNSUPPORTED recorded for an input or a computed tensor during an export
 */
ADZ_API const void *adz_tensor_data_constant(const adz_tensor *t);

/**
 * A pointer to the first element of an f32 tensor. The other elements follow at its strides.
 *
 * @param t  f32
 * @return   a pointer valid as long as the storage lives; NULL with ADZ_ERR_DTYPE recorded for
 *           another dtype, and NULL when t is NULL
 */
ADZ_API float *adz_tensor_data_f32(adz_tensor *t);

/**
 * A pointer to the first element of an f64 tensor. The other elements follow at its strides.
 *
 * @param t  f64
 * @return   a pointer valid as long as the storage lives; NULL with ADZ_ERR_DTYPE recorded for
 *           another dtype, and NULL when t is NULL
 */
ADZ_API double *adz_tensor_data_f64(adz_tensor *t);

/**
 * A pointer to the first element of an i64 tensor. The other elements follow at its strides.
 *
 * @param t  i64
 * @return   a pointer valid as long as the storage lives; NULL with ADZ_ERR_DTYPE recorded for
 *           another dtype, and NULL when t is NULL
 */
ADZ_API int64_t *adz_tensor_data_i64(adz_tensor *t);

/**
 * Says that the caller has written through a pointer to the elements. A backward that needs the old
 * values then fails with ADZ_ERR_VERSION instead of computing a wrong gradient.
 *
 * @param t  any tensor
 */
ADZ_API void adz_tensor_touch(adz_tensor *t);

/**
 * The value of a tensor with one element, as a double.
 *
 * @param t  one element, any dtype
 * @return   its value; NaN with ADZ_ERR_SHAPE or ADZ_ERR_NULL recorded
 * @see      torch.Tensor.item
 */
ADZ_API double adz_item(const adz_tensor *t);

/**
 * The value of a tensor with one element, as an integer.
 *
 * @param t  one element of an integer or bool dtype
 * @return   its value; 0 with ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_item_i64(const adz_tensor *t);

/**
 * Reads one element as a double.
 *
 * @param t      any dtype
 * @param index  one index per dimension
 * @return       its value; NaN with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API double adz_tensor_at(const adz_tensor *t, const int64_t *index);

/**
 * Copies the elements into a buffer, in row-major order and in the tensor's dtype.
 *
 * @param t       any tensor
 * @param buffer  receives numel elements
 * @param bytes   bytes of buffer, exactly numel times the element size
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_ARGUMENT
 */
ADZ_API adz_status adz_tensor_read(const adz_tensor *t, void *buffer, size_t bytes);

/**
 * Copies elements from a buffer, in row-major order and in the tensor's dtype. This counts as an
 * in-place change.
 *
 * @param t       any tensor that takes no part in a graph (a leaf inside ADZ_NO_GRAD is fine)
 * @param buffer  numel elements
 * @param bytes   bytes of buffer, exactly numel times the element size
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_INPLACE
 */
ADZ_API adz_status adz_tensor_write(adz_tensor *t, const void *buffer, size_t bytes);

/**
 * Fails if an element is false. A function that a plan captures (adze/plan.h) checks its tensors in
 * this way, because a replay makes the check again.
 *
 * @param condition  bool, of any shape; made contiguous if it is not
 * @param message    what is wrong if an element is false, such as "a text is nothing but padding";
 *                   its address is kept, so make it static
 * @return           ADZ_OK; ADZ_ERR_ARGUMENT with the message and the position of the first false
 *                   element; ADZ_ERR_NULL, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @see              torch._assert_async
 */
ADZ_API adz_status adz_assert_all(adz_tensor *condition, const char *message);

/**
 * Whether two tensors have equal shapes and equal elements. Dtypes may differ. NaN equals nothing.
 *
 * @param a  any tensor
 * @param b  any tensor
 * @return   false when one is NULL
 * @see      torch.equal
 */
ADZ_API bool adz_equal(const adz_tensor *a, const adz_tensor *b);

/**
 * Whether two tensors have equal shapes and |a - b| <= atol + rtol |b| for every element.
 *
 * @param a          any tensor
 * @param b          any tensor
 * @param rtol       relative tolerance (PyTorch's default is 1e-5)
 * @param atol       absolute tolerance (PyTorch's default is 1e-8)
 * @param equal_nan  whether NaN is close to NaN
 * @return           false when one is NULL
 * @see              torch.allclose
 */
ADZ_API bool adz_allclose(
    const adz_tensor *a, const adz_tensor *b, double rtol, double atol, bool equal_nan);

/**
 * Prints a tensor as PyTorch does. Of long dimensions it prints the first and last elements only.
 *
 * @param t       any tensor; NULL prints "NULL"
 * @param stream  where to
 * @return        ADZ_OK, ADZ_ERR_MEMORY or ADZ_ERR_IO
 */
ADZ_API adz_status adz_tensor_print(const adz_tensor *t, FILE *stream);

/**
 * Writes the text that adz_tensor_print prints into a buffer.
 *
 * @param t       any tensor; NULL gives "NULL"
 * @param buffer  receives the text, cut to fit and always terminated; may be NULL when size is 0
 * @param size    bytes of buffer
 * @return        the length of the whole text without its terminator; 0 with ADZ_ERR_MEMORY
 *                recorded
 */
ADZ_API size_t adz_tensor_to_string(const adz_tensor *t, char *buffer, size_t size);

/* ---- factories ---------------------------------------------------------------------------- */

/**
 * A tensor whose contents are undefined.
 *
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  any dtype
 * @return       borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see          torch.empty
 */
ADZ_API adz_tensor *adz_empty(adz_shape shape, adz_dtype dtype);

/**
 * A tensor of zeros.
 *
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  any dtype
 * @return       borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see          torch.zeros
 */
ADZ_API adz_tensor *adz_zeros(adz_shape shape, adz_dtype dtype);

/**
 * A tensor of ones.
 *
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  any dtype
 * @return       borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY)
 * @see          torch.ones
 */
ADZ_API adz_tensor *adz_ones(adz_shape shape, adz_dtype dtype);

/**
 * A tensor filled with one value.
 *
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param value  converted to dtype; an integer dtype drops the fraction and must hold the rest
 * @param dtype  any dtype
 * @return       borrowed from the scope, or NULL (ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT,
 *               ADZ_ERR_MEMORY)
 * @see          torch.full
 */
ADZ_API adz_tensor *adz_full(adz_shape shape, double value, adz_dtype dtype);

/**
 * A tensor with no dimensions and one value.
 *
 * @param value  converted to dtype; an integer dtype drops the fraction and must hold the rest
 * @param dtype  any dtype
 * @return       borrowed from the scope, or NULL (ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY)
 */
ADZ_API adz_tensor *adz_scalar(double value, adz_dtype dtype);

/**
 * A tensor holding a copy of an array. In C11, a call of it does not compile if the array has
 * elements of another type than the dtype (adze/typed.h).
 *
 * @param data   contiguous elements of the given dtype, as many as the shape has; may be NULL for
 *               none
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  the elements' dtype
 * @return       borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *               ADZ_ERR_MEMORY)
 * @see          torch.tensor
 */
ADZ_API adz_tensor *adz_tensor_from(const void *data, adz_shape shape, adz_dtype dtype);

/**
 * adz_tensor_from with a check of the size of the elements. Calls of adz_tensor_from become calls
 * of it in C11, see adze/typed.h.
 *
 * @param data   contiguous elements, as many as the shape has; may be NULL for none
 * @param shape  rank 0 to 8, sizes 0 or more
 * @param dtype  the elements' dtype
 * @param item   bytes of an element of the array; 0 if they are not known
 * @return       borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_MEMORY, and
 *               ADZ_ERR_DTYPE if the dtype has elements of another size)
 */
ADZ_API adz_tensor *adz_tensor_from_sized(
    const void *data, adz_shape shape, adz_dtype dtype, size_t item);

/**
 * A tensor over the caller's memory, which is not copied.
 *
 * @param data     contiguous elements; aligned to their size
 * @param shape    rank 0 to 8, sizes 0 or more
 * @param dtype    the elements' dtype
 * @param deleter  called with data and user when the last tensor over the memory ends; may be NULL.
 *                 On failure it is not called: the memory stays the caller's.
 * @param user     handed to deleter
 * @return         borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *                 ADZ_ERR_ARGUMENT for misaligned memory, ADZ_ERR_MEMORY)
 * @see            torch.from_blob
 */
ADZ_API adz_tensor *adz_tensor_wrap(void *data, adz_shape shape, adz_dtype dtype,
    void (*deleter)(void *data, void *user), void *user);

/**
 * A tensor with undefined contents, of another tensor's shape and dtype.
 *
 * @param t  any tensor
 * @return   contiguous, borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_MEMORY)
 * @see      torch.empty_like
 */
ADZ_API adz_tensor *adz_empty_like(const adz_tensor *t);

/**
 * A tensor of zeros, of another tensor's shape and dtype.
 *
 * @param t  any tensor
 * @return   contiguous, borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_MEMORY)
 * @see      torch.zeros_like
 */
ADZ_API adz_tensor *adz_zeros_like(const adz_tensor *t);

/**
 * A tensor of ones, of another tensor's shape and dtype.
 *
 * @param t  any tensor
 * @return   contiguous, borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_MEMORY)
 * @see      torch.ones_like
 */
ADZ_API adz_tensor *adz_ones_like(const adz_tensor *t);

/**
 * A tensor filled with one value, of another tensor's shape and dtype.
 *
 * @param t      any tensor
 * @param value  converted to t's dtype; an integer dtype drops the fraction and must hold the rest
 * @return       contiguous, borrowed from the scope, or NULL (ADZ_ERR_NULL, ADZ_ERR_ARGUMENT,
 *               ADZ_ERR_MEMORY)
 * @see          torch.full_like
 */
ADZ_API adz_tensor *adz_full_like(const adz_tensor *t, double value);

/**
 * Stores file and line of a call. The macros of ADZ_SITES call it.
 *
 * @param t     what the call returned; NULL appends file and line to the recorded error's message
 * @param file  the caller's file, a string that lives as long as the program
 * @param line  the caller's line
 * @return      t
 */
ADZ_API adz_tensor *adz_sited(adz_tensor *t, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
