/* Kernels that join the elements of two ranks.
 *
 *     join_sum  low += high; integers wrap around, bools are or-ed
 *     join_max  low = max(low, high), NaN if one of them is NaN
 *     divide    x /= divisor, f32 and f64
 *
 * A unit is one element. The elements of the lower ranks are the first operand, so that a sum of
 * two NaNs has the bits of the lower one's.
 */
#ifndef elem
#define THIS_FILE "distributed/join.kernel.c"
#include "distributed/join.h"
#include "tensor/kernel/each_type.h"
#else

static inline elem KERNEL(sum_of)(elem a, elem b)
{
#if ELEM_IS_FLOAT
    return a + b;
#elif ELEM_IS_BOOL
    return a | b;
#else
    return (elem)((uint64_t)a + (uint64_t)b);
#endif
}

void KERNEL(join_sum)(const void *block, int64_t begin, int64_t end);
void KERNEL(join_sum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_join_args *args = block;
    elem *restrict low = args->low;
    const elem *restrict high = args->high;
    for (int64_t i = begin; i < end; ++i) {
        low[i] = KERNEL(sum_of)(low[i], high[i]);
    }
}

/* A NaN in low is chosen by the second condition. A NaN in high fails the first one and is chosen
 * too. */
void KERNEL(join_max)(const void *block, int64_t begin, int64_t end);
void KERNEL(join_max)(const void *block, int64_t begin, int64_t end)
{
    const adzi_join_args *args = block;
    elem *restrict low = args->low;
    const elem *restrict high = args->high;
    for (int64_t i = begin; i < end; ++i) {
#if ELEM_IS_FLOAT
        low[i] = low[i] > high[i] || low[i] != low[i] ? low[i] : high[i];
#else
        low[i] = low[i] > high[i] ? low[i] : high[i];
#endif
    }
}

#if ELEM_IS_FLOAT
void KERNEL(join_divide)(const void *block, int64_t begin, int64_t end);
void KERNEL(join_divide)(const void *block, int64_t begin, int64_t end)
{
    const adzi_divide_args *args = block;
    elem *x = args->x, divisor = (elem)args->divisor;
    for (int64_t i = begin; i < end; ++i) {
        x[i] /= divisor;
    }
}
#endif

#endif
