/* Kernels of gather: elements of x are picked along one dimension.
 *
 *     y[i_0, .., i_dim, ..] = x[i_0, .., index[i_0, .., i_dim, ..], ..]
 *
 * A unit is one element of y, which has the shape of the index; both are contiguous. x may have any
 * strides. Elements are copied as bits, so there is one kernel per size of element (1, 2, 4 or 8
 * bytes) and none per dtype. The derivative is scatter_add. */
#include <string.h>

#include "ops/index/gather.kernel.h"
#include "base/isa.h"

/* GATHER(type, bits) makes the kernel for elements of `bits` bits and its inner loop gather_row.
 *
 * gather_row computes n results of one row of y, y[k] = x[k * step + index[k] * along]. `x` points
 * to the element for k = 0 whose coordinate along dim is 0. `step` is the stride of x along its
 * last dimension, or 0 if that is dim; `along` is the stride of x along dim. If dim is the last and
 * contiguous dimension, four results are stored as one vector. The gather instructions of the
 * processor take twice as long.
 *
 * The kernel itself walks the rows of y: `position` is the coordinate of the first result, and
 * `from` is the offset in x that belongs to it. */
#define GATHER(type, bits)                                                                       \
    typedef uint##bits##_t __attribute__((may_alias)) item_##type;                               \
    typedef uint##bits##_t four_##type __attribute__((vector_size(bits / 2)));                   \
    static inline void gather_row_##type(item_##type *restrict y, const item_##type *restrict x, \
        const int64_t *restrict index, int64_t n, int64_t step, int64_t along)                   \
    {                                                                                            \
        if (step == 0 && along == 1) {                                                           \
            int64_t k = 0;                                                                       \
            for (; k + 4 <= n; k += 4) {                                                         \
                const four_##type four = { x[index[k]], x[index[k + 1]], x[index[k + 2]],        \
                    x[index[k + 3]] };                                                           \
                memcpy(y + k, &four, sizeof four);                                               \
            }                                                                                    \
            for (; k < n; ++k) {                                                                 \
                y[k] = x[index[k]];                                                              \
            }                                                                                    \
            return;                                                                              \
        }                                                                                        \
        for (int64_t k = 0; k < n; ++k) {                                                        \
            y[k] = x[k * step + index[k] * along];                                               \
        }                                                                                        \
    }                                                                                            \
    void KERNEL_OF(gather, type)(const void *block, int64_t begin, int64_t end)                  \
    {                                                                                            \
        const adzi_gather_args *args = block;                                                    \
        const item_##type *x = (const void *)args->x;                                            \
        item_##type *y = (void *)args->y;                                                        \
        const int last = args->rank - 1;                                                         \
        if (last < 0) {                                                                          \
            gather_row_##type(y + begin, x, args->index + begin, end - begin, 0, 0);             \
            return;                                                                              \
        }                                                                                        \
        const int64_t row = args->sizes[last], step = args->strides[last];                       \
        int64_t position[ADZ_MAX_RANK] = { 0 }, from = 0, at = begin;                            \
        for (int d = last; d >= 0; --d) {                                                        \
            position[d] = at % args->sizes[d];                                                   \
            at /= args->sizes[d];                                                                \
            from += position[d] * args->strides[d];                                              \
        }                                                                                        \
        for (int64_t n; begin < end; begin += n) {                                               \
            n = row - position[last];                                                            \
            n = n < end - begin ? n : end - begin;                                               \
            gather_row_##type(y + begin, x + from, args->index + begin, n, step, args->along);   \
            position[last] += n;                                                                 \
            from += n * step;                                                                    \
            for (int d = last; d > 0 && position[d] == args->sizes[d]; --d) {                    \
                from += args->strides[d - 1] - args->sizes[d] * args->strides[d];                \
                ++position[d - 1];                                                               \
                position[d] = 0;                                                                 \
            }                                                                                    \
        }                                                                                        \
    }

GATHER(b1, 8)
GATHER(b2, 16)
GATHER(b4, 32)
GATHER(b8, 64)
