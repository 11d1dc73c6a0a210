/* Kernels of scatter_add, scatter and scatter_reduce: elements are added to y, or written or
 * reduced, at the coordinates that an index names.
 *
 *     y[i_0, .., index[i_0, .., i_dim, ..], ..] += from[i_0, .., i_dim, ..]
 *
 * scatter_add is also the derivative of gather. A unit is one slice of the index along dim. All
 * elements of a slice go to one slice of y, and no other unit writes there, so threads need no
 * atomics. Within a slice, elements are taken in the order of the index, so the bits do not depend
 * on the number of threads. Operands may have any strides.
 *
 *     scatter_add        y has the dtype of `from`
 *     scatter_add_wide   y is f64, for slices longer than ADZI_SCATTER_SLICE
 *     scatter_add_slice   slices of up to ADZI_SCATTER_SLICE elements, summed in an f64 buffer
 *     scatter_last       the last element stays
 *     scatter_product, scatter_largest, scatter_smallest
 */
#ifndef elem
#define THIS_FILE "ops/index/scatter_add.kernel.c"
#include "ops/index/scatter_add.kernel.h"
#include "tensor/kernel/each_type.h"
#else

/* The offsets of the first elements of a slice in y, in `from` and in the index. */
static inline void KERNEL(scatter_slice)(
    const adzi_scatter_args *args, int64_t slice, int64_t *y, int64_t *from, int64_t *index)
{
    *y = *from = *index = 0;
    for (int d = args->rank - 1; d >= 0; --d) {
        const int64_t position = d > 0 ? slice % args->sizes[d] : slice;
        slice = d > 0 ? slice / args->sizes[d] : 0;
        *y += position * args->y_strides[d];
        *from += position * args->from_strides[d];
        *index += position * args->index_strides[d];
    }
}

/* SCATTER(name, TY, SUM) makes a kernel that replaces an element a of y, of type TY, by the
 * expression SUM of a and of the element b that is added. */
#define SCATTER(name, TY, SUM)                                              \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end)        \
    {                                                                       \
        const adzi_scatter_args *args = block;                              \
        for (int64_t slice = begin; slice < end; ++slice) {                 \
            int64_t at_y, at_from, at_index;                                \
            KERNEL(scatter_slice)(args, slice, &at_y, &at_from, &at_index); \
            TY *y = (TY *)args->y + at_y;                                   \
            const elem *from = (const elem *)args->from + at_from;          \
            const int64_t *index = args->index + at_index;                  \
            for (int64_t i = 0; i < args->n; ++i) {                         \
                TY *to = y + index[i * args->index_along] * args->y_along;  \
                const TY a = *to, b = (TY)from[i * args->from_along];       \
                *to = (TY)(SUM);                                            \
            }                                                               \
        }                                                                   \
    }

SCATTER(scatter_last, elem, ((void)a, b))

#if ELEM_IS_BOOL
SCATTER(scatter_add, elem, a | b)
SCATTER(scatter_product, elem, a &b)
SCATTER(scatter_largest, elem, a | b)
SCATTER(scatter_smallest, elem, a &b)
#elif ELEM_IS_FLOAT
SCATTER(scatter_add, elem, a + b)
SCATTER(scatter_product, elem, a *b)
/* A NaN fails all comparisons, and stays once it is there. */
SCATTER(scatter_largest, elem, b > a || b != b ? b : a)
SCATTER(scatter_smallest, elem, b < a || b != b ? b : a)
SCATTER(scatter_add_wide, double, a + b)

/* Adds one slice by way of a buffer of f64 sums, which is rounded once at the end. f, i and s are
 * the strides of `from`, of the index and of y; a call with the constant 1 gets loops without
 * multiplications. */
static inline __attribute__((always_inline)) void KERNEL(add_slice)(const adzi_scatter_args *args,
    elem *y, const elem *from, const int64_t *index, const int64_t f, const int64_t i,
    const int64_t s)
{
    const int64_t n = args->n, length = args->length;
    double sums[ADZI_SCATTER_SLICE];
    for (int64_t k = 0; k < length; ++k) {
        sums[k] = (double)y[k * s];
    }
    for (int64_t k = 0; k < n; ++k) {
        sums[index[k * i]] += (double)from[k * f];
    }
    for (int64_t k = 0; k < length; ++k) {
        y[k * s] = (elem)sums[k];
    }
}

/* scatter_add with sums in f64, for slices of y of at most ADZI_SCATTER_SLICE elements. */
void KERNEL(scatter_add_slice)(const void *block, int64_t begin, int64_t end)
{
    const adzi_scatter_args *args = block;
    const int64_t f = args->from_along, i = args->index_along, s = args->y_along;
    for (int64_t slice = begin; slice < end; ++slice) {
        int64_t at_y, at_from, at_index;
        KERNEL(scatter_slice)(args, slice, &at_y, &at_from, &at_index);
        elem *y = (elem *)args->y + at_y;
        const elem *from = (const elem *)args->from + at_from;
        const int64_t *index = args->index + at_index;
        if (f == 1 && i == 1 && s == 1) {
            KERNEL(add_slice)(args, y, from, index, 1, 1, 1);
        } else {
            KERNEL(add_slice)(args, y, from, index, f, i, s);
        }
    }
}
#else
/* Unsigned, so that overflow wraps. */
SCATTER(scatter_add, elem, (uint64_t)a + (uint64_t)b)
SCATTER(scatter_product, elem, (uint64_t)a *(uint64_t)b)
SCATTER(scatter_largest, elem, b > a ? b : a)
SCATTER(scatter_smallest, elem, b < a ? b : a)
#endif
#undef SCATTER

#endif
