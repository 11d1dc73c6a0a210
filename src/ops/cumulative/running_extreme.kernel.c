/* Kernels of running_extreme: the index of the largest or smallest element so far in each slice.
 *
 * A unit is one slice along a dimension (ops/slices.h). Up to 256 neighbouring slices are walked
 * together, because their elements of one step are contiguous. */
#ifndef elem
#define THIS_FILE "ops/cumulative/running_extreme.kernel.c"
#include "ops/slices.h"
#include "tensor/kernel/each_type.h"
#else

enum { KERNEL(extreme_columns) = 256 };

/* Whether e replaces the best element before it: ties go to the later one, and NaN stays for good,
 * because no element is in relation to it. */
#undef STAYS
#if ELEM_IS_FLOAT
#define STAYS(e, RELATION, best) ((e)RELATION(best) || (e) != (e))
#else
#define STAYS(e, RELATION, best) ((e)RELATION(best))
#endif

/* A macro, because the relation is an operator: both kernels are this loop. */
#define SO_FAR(name, RELATION)                                               \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end)         \
    {                                                                        \
        const adzi_slices_args *a = block;                                   \
        const int64_t n = a->n, inner = a->inner;                            \
        for (int64_t w; begin < end; begin += w) {                           \
            const int64_t column = begin % inner;                            \
            w = inner - column < end - begin ? inner - column : end - begin; \
            w = w < KERNEL(extreme_columns) ? w : KERNEL(extreme_columns);   \
            const int64_t position = begin / inner * n * inner + column;     \
            const elem *x = (const elem *)(const void *)a->in[0] + position; \
            int64_t *y = (int64_t *)(void *)a->out + position;               \
            elem best[KERNEL(extreme_columns)];                              \
            int64_t index[KERNEL(extreme_columns)];                          \
            for (int64_t j = 0; j < w; ++j) {                                \
                best[j] = x[j];                                              \
                index[j] = 0;                                                \
            }                                                                \
            for (int64_t i = 0; i < n; ++i) {                                \
                const int64_t row = i * inner;                               \
                for (int64_t j = 0; j < w; ++j) {                            \
                    const elem e = x[row + j];                               \
                    const bool stays = STAYS(e, RELATION, best[j]);          \
                    best[j] = stays ? e : best[j];                           \
                    index[j] = stays ? i : index[j];                         \
                    y[row + j] = index[j];                                   \
                }                                                            \
            }                                                                \
        }                                                                    \
    }

SO_FAR(largest_so_far, >=)
SO_FAR(smallest_so_far, <=)
#undef SO_FAR

#endif
