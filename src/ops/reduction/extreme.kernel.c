/* Kernels of max, min, argmax and argmin, and of the derivatives of max and min.
 *
 *     y = the largest (or smallest) of n elements,   index = the first i with x_i = y
 *
 * NaN wins over every number, as in PyTorch. A unit of largest_reduce and smallest_reduce is one
 * result, or one block of a long one (reduce.kernel.h). Comparisons give one answer in any order,
 * so three ways of walking share the work freely:
 *
 *     rows      contiguous elements: fold.kernel.h compares whole registers
 *     columns   contiguous results: up to 64 at a time, row by row, where indices are not asked for
 *     chunks    everything else, by the general walk of reduce.kernel.h
 *
 * An index is searched afterwards, once the value is known. Comparing 64 elements with one value
 * vectorises; carrying an index along with each maximum would not.
 */
#ifndef elem
#define THIS_FILE "ops/reduction/extreme.kernel.c"
#include <string.h>

#include "ops/slices.h"
#include "ops/reduction/reduce.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#include "ops/reduction/reduce.kernel.h"
#include "tensor/kernel/fold.kernel.h"

/* The state of a reduction: the extreme so far and its index. */
typedef struct {
    elem value;
    int64_t found; /* -1 before the first element */
} KERNEL(extreme);

enum { KERNEL(searched) = 64 }; /* elements that are compared with a value per step of a search */

/* The first i with x[i] = value; the caller knows that there is one. Blocks of 64 elements are
 * searched without a branch per element. A NaN equals no number and is searched one by one.
 * `number` is an integer as wide as elem, so that index and comparison use equal lanes. Not
 * inlined, because the code is long. */
static __attribute__((noinline)) int64_t KERNEL(found_of)(const elem *x, int64_t n, elem value)
{
    typedef __typeof__(_Generic((elem)0, double
                                : (int64_t)0, int64_t
                                : (int64_t)0, default : 0)) number;
    int64_t i = 0;
    for (; !IS_NAN(value) && i + KERNEL(searched) <= n; i += KERNEL(searched)) {
        number first = KERNEL(searched);
        for (number j = 0; j < KERNEL(searched); ++j) {
            const number at = x[i + j] == value ? j : KERNEL(searched);
            first = at < first ? at : first;
        }
        if (first < KERNEL(searched)) {
            return i + first;
        }
    }
    while (!(x[i] == value || (IS_NAN(value) && IS_NAN(x[i])))) {
        ++i;
    }
    return i;
}

/* FOLD(name, way) makes the functions that REDUCTION_WITH of reduce.kernel.h asks for. The way is
 * one of fold.kernel.h:
 *
 *     start    no elements yet
 *     of       the extreme of contiguous elements
 *     wins     true if a value replaces the state: the first of equals stays
 *     run      adds contiguous elements, and searches their extreme's index if it is asked for
 *     join     adds the state of later elements
 *     end      writes value and index of result r
 *     rows     computes results whose elements are contiguous
 *     columns  computes contiguous results row by row, or says 0 if it cannot
 */
#define FOLD(name, way)                                                                          \
    NOINLINE elem KERNEL(name##_of)(const elem *x, int64_t n)                                    \
    {                                                                                            \
        return KERNEL(pick)(x, n, way);                                                          \
    }                                                                                            \
    static inline void KERNEL(name##_start)(KERNEL(extreme) * s)                                 \
    {                                                                                            \
        s->value = 0;                                                                            \
        s->found = -1;                                                                           \
    }                                                                                            \
    static inline int KERNEL(name##_wins)(elem value, const KERNEL(extreme) * s)                 \
    {                                                                                            \
        return s->found < 0 || (!IS_NAN(s->value) && KERNEL(wins)(value, s->value, way));        \
    }                                                                                            \
    static inline void KERNEL(name##_run)(                                                       \
        KERNEL(extreme) * s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a) \
    {                                                                                            \
        elem value = KERNEL(name##_of)(x, n);                                                    \
        if (!KERNEL(name##_wins)(value, s)) {                                                    \
            return;                                                                              \
        }                                                                                        \
        s->value = value;                                                                        \
        s->found = first + (a->indices != NULL ? KERNEL(found_of)(x, n, value) : 0);             \
    }                                                                                            \
    static inline void KERNEL(name##_join)(KERNEL(extreme) * s, const KERNEL(extreme) * t)       \
    {                                                                                            \
        if (KERNEL(name##_wins)(t->value, s)) {                                                  \
            *s = *t;                                                                             \
        }                                                                                        \
    }                                                                                            \
    static inline void KERNEL(name##_end)(                                                       \
        const KERNEL(extreme) * s, const adzi_reduce_args *a, int64_t r)                         \
    {                                                                                            \
        if (a->out != NULL) {                                                                    \
            ((elem *)(void *)a->out)[r] = s->value;                                              \
        }                                                                                        \
        if (a->indices != NULL) {                                                                \
            ((int64_t *)(void *)a->indices)[r] = s->found;                                       \
        }                                                                                        \
    }                                                                                            \
    /* All results from r on, whose elements are contiguous. */                                  \
    static int64_t KERNEL(name##_rows)(const adzi_reduce_args *a, int64_t r, int64_t end)        \
    {                                                                                            \
        const elem *x = (const elem *)(const void *)a->in + r * a->kept_strides[0];              \
        for (int64_t at = r; at < end; ++at, x += a->kept_strides[0]) {                          \
            const elem value = KERNEL(name##_of)(x, a->n);                                       \
            if (a->out != NULL) {                                                                \
                ((elem *)(void *)a->out)[at] = value;                                            \
            }                                                                                    \
            if (a->indices != NULL) {                                                            \
                ((int64_t *)(void *)a->indices)[at] = KERNEL(found_of)(x, a->n, value);          \
            }                                                                                    \
        }                                                                                        \
        return end - r;                                                                          \
    }                                                                                            \
    /* The extremes of w columns and of rows of them. */                                         \
    INLINE void KERNEL(name##_add)(                                                              \
        void *state, const elem *x, int64_t w, int64_t rows, int64_t stride, bool first)         \
    {                                                                                            \
        elem *restrict found = state;                                                            \
        if (first) {                                                                             \
            memcpy(found, x, (size_t)w * sizeof(elem));                                          \
        }                                                                                        \
        for (int64_t i = first; i < rows; ++i) {                                                 \
            for (int64_t j = 0; j < w; ++j) {                                                    \
                const elem value = x[i * stride + j];                                            \
                found[j] = KERNEL(wins)(value, found[j], way) ? value : found[j];                \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
    /* Contiguous results, a row of x at a time, where no indices are asked for. */              \
    static inline int64_t KERNEL(name##_columns)(                                                \
        const adzi_reduce_args *a, int64_t r, int64_t end)                                       \
    {                                                                                            \
        if (KERNEL(has_rows)(a)) {                                                               \
            return KERNEL(name##_rows)(a, r, end);                                               \
        }                                                                                        \
        const int64_t w = KERNEL(tile_width)(a, r, end, KERNEL(most_columns));                   \
        if (w < KERNEL(tile) || a->indices != NULL || a->partial != NULL || a->n == 0) {         \
            return 0;                                                                            \
        }                                                                                        \
        elem found[KERNEL(most_columns)];                                                        \
        KERNEL(walk_columns)(a, r, w, KERNEL(name##_add), found);                                \
        memcpy((elem *)(void *)a->out + r, found, (size_t)w * sizeof(elem));                     \
        return w;                                                                                \
    }                                                                                            \
    REDUCTION_WITH(name, KERNEL(extreme), KERNEL(name##_columns))

FOLD(largest, LARGER_OR_NAN)
FOLD(smallest, SMALLER_OR_NAN)

#if ELEM_IS_FLOAT
/* Backward along one dimension: dx[index] = dy for each slice; dx is 0 elsewhere before. in:
 * indices, dy. A unit is one slice. */
void KERNEL(extreme_put)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = block;
    const int64_t *found = (const int64_t *)(const void *)a->in[0];
    const elem *dy = (const elem *)(const void *)a->in[1];
    elem *dx = (elem *)(void *)a->out;
    for (int64_t slice = begin; slice < end; ++slice) {
        int64_t row = slice / a->inner * a->n + found[slice];
        dx[row * a->inner + slice % a->inner] = dy[slice];
    }
}
#endif

#endif
