/* One instance per size of element, not per dtype. */
#include <string.h>

#include "autograd/ops/index/gather.kernel.h"
#include "base/isa.h"

/* y[i] = the element of x at i's place, with index[i] for its coordinate along dim. Results that
 * lie in one row go together: x is the place of the first with 0 for that coordinate, and `step`
 * further for each of the others. Four are stored at once; the processors' own gathers take twice
 * as long. */
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
        int64_t place[ADZ_MAX_RANK] = { 0 }, from = 0, at = begin;                               \
        for (int d = last; d >= 0; --d) {                                                        \
            place[d] = at % args->sizes[d];                                                      \
            at /= args->sizes[d];                                                                \
            from += place[d] * args->strides[d];                                                 \
        }                                                                                        \
        for (int64_t n; begin < end; begin += n) {                                               \
            n = row - place[last];                                                               \
            n = n < end - begin ? n : end - begin;                                               \
            gather_row_##type(y + begin, x + from, args->index + begin, n, step, args->along);   \
            place[last] += n;                                                                    \
            from += n * step;                                                                    \
            for (int d = last; d > 0 && place[d] == args->sizes[d]; --d) {                       \
                from += args->strides[d - 1] - args->sizes[d] * args->strides[d];                \
                ++place[d - 1];                                                                  \
                place[d] = 0;                                                                    \
            }                                                                                    \
        }                                                                                        \
    }

GATHER(b1, 8)
GATHER(b2, 16)
GATHER(b4, 32)
GATHER(b8, 64)
