/* Kernel of unique_dim: the order of the subtensors x[n, m], and where other ones begin.
 *
 * Subtensors are compared by their first elements that differ. NaN is the largest element and
 * equals itself in the order, so that the order is total. Runs of subtensors are merged, each pass
 * doubles their length, and equal subtensors keep their order. */
#ifndef elem
#include <string.h>

#include "ops/order/unique.kernel.h"

#define THIS_FILE "ops/order/unique_dim.kernel.c"
#include "tensor/kernel/each_type.h"
#else

/* Whether the subtensor b comes before the subtensor a. */
static inline bool KERNEL(subtensor_falls)(const elem *a, const elem *b, int64_t m)
{
    for (int64_t j = 0; j < m; ++j) {
        if (a[j] == b[j]) {
            continue;
        }
#if ELEM_IS_FLOAT
        const bool nan_a = a[j] != a[j], nan_b = b[j] != b[j];
        if (nan_a && nan_b) {
            continue;
        }
        if (nan_a || nan_b) {
            return nan_a;
        }
#endif
        return b[j] < a[j];
    }
    return false;
}

/* Merges the runs from[begin .. middle) and from[middle .. end). */
static void KERNEL(merge_subtensors)(const adzi_subtensors_args *args, const int64_t *from,
    int64_t *to, int64_t begin, int64_t middle, int64_t end)
{
    const elem *x = args->x;
    int64_t left = begin, right = middle;
    for (int64_t i = begin; i < end; ++i) {
        const bool take_right =
            left == middle || (right < end && KERNEL(subtensor_falls)(x + from[left] * args->m,
                                                  x + from[right] * args->m, args->m));
        to[i] = take_right ? from[right++] : from[left++];
    }
}

static void KERNEL(order_subtensors)(const adzi_subtensors_args *args)
{
    const int64_t n = args->n;
    int64_t *from = args->order, *to = args->scratch;
    for (int64_t i = 0; i < n; ++i) {
        from[i] = i;
    }
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * run) {
            const int64_t middle = begin + run < n ? begin + run : n;
            const int64_t end = middle + run < n ? middle + run : n;
            KERNEL(merge_subtensors)(args, from, to, begin, middle, end);
        }
        int64_t *const other = from;
        from = to;
        to = other;
    }
    if (from != args->order) {
        memcpy(args->order, from, (size_t)n * sizeof *from);
    }
}

void KERNEL(sort_subtensors)(const void *block, int64_t begin, int64_t end);
void KERNEL(sort_subtensors)(const void *block, int64_t begin, int64_t end)
{
    const adzi_subtensors_args *args = block;
    if (begin == end || args->n == 0) {
        return;
    }
    KERNEL(order_subtensors)(args);
    args->begins[0] = true;
    for (int64_t i = 1; i < args->n; ++i) {
        const elem *before = (const elem *)args->x + args->order[i - 1] * args->m;
        const elem *subtensor = (const elem *)args->x + args->order[i] * args->m;
        bool differs = false;
        for (int64_t j = 0; j < args->m && !differs; ++j) {
            differs = subtensor[j] != before[j];
        }
        args->begins[i] = differs;
    }
}

#endif
