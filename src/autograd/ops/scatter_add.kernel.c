#ifndef T
#define THIS_FILE "autograd/ops/scatter_add.kernel.c"
#include "autograd/ops/scatter_add.kernel.h"
#include "tensor/each_type.h"
#else

/* A lane's sums all lie in one lane of y, so that lanes may run side by side, and each is summed in
 * the order of its index. */
#define SCATTER(name, TY, SUM)                                             \
    void K(name)(const void *block, int64_t begin, int64_t end);           \
    void K(name)(const void *block, int64_t begin, int64_t end)            \
    {                                                                      \
        const adzi_scatter_args *args = block;                             \
        for (int64_t lane = begin; lane < end; ++lane) {                   \
            TY *y = args->y;                                               \
            const T *from = args->from;                                    \
            const int64_t *index = args->index;                            \
            int64_t at = lane;                                             \
            for (int d = args->rank - 1; d >= 0; --d) {                    \
                int64_t place = at % args->sizes[d];                       \
                at /= args->sizes[d];                                      \
                y += place * args->y_strides[d];                           \
                from += place * args->from_strides[d];                     \
                index += place * args->index_strides[d];                   \
            }                                                              \
            for (int64_t i = 0; i < args->n; ++i) {                        \
                TY *to = y + index[i * args->index_along] * args->y_along; \
                const TY a = *to, b = (TY)from[i * args->from_along];      \
                *to = (TY)(SUM);                                           \
            }                                                              \
        }                                                                  \
    }

#if T_IS_BOOL
SCATTER(scatter_add, T, a | b)
#elif T_IS_FLOAT
SCATTER(scatter_add, T, a + b)
SCATTER(scatter_add_wide, double, a + b)
#else
SCATTER(scatter_add, T, (uint64_t)a + (uint64_t)b)
#endif
#undef SCATTER

#endif
