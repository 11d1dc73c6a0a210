/* Kernels of searchsorted.
 *
 *     y[i] = the number of elements of the slice that come before values[i]
 *
 * A unit is one value. NaN counts as the largest element, as sort has it. */
#ifndef elem
#include "ops/order/searchsorted.kernel.h"

#define THIS_FILE "ops/order/searchsorted.kernel.c"
#include "tensor/kernel/each_type.h"
#else

#if ELEM_IS_FLOAT
#define COMES_BEFORE(a, b) ((a) < (b) || ((b) != (b) && (a) == (a)))
#else
#define COMES_BEFORE(a, b) ((a) < (b))
#endif

void KERNEL(search_ascends)(const void *block, int64_t begin, int64_t end);
void KERNEL(search_ascends)(const void *block, int64_t begin, int64_t end)
{
    const adzi_ascends_args *args = block;
    const elem *x = args->sorted;
    if (begin == end) {
        return;
    }
    *args->bad = -1;
    for (int64_t slice = 0; slice < args->slices; ++slice, x += args->n) {
        /* The loop without a branch runs first. */
        bool falls = false;
        for (int64_t i = 1; i < args->n; ++i) {
            falls |= COMES_BEFORE(x[i], x[i - 1]);
        }
        for (int64_t i = 1; i < args->n && falls; ++i) {
            if (COMES_BEFORE(x[i], x[i - 1])) {
                *args->bad = slice * args->n + i;
                return;
            }
        }
    }
}

void KERNEL(searchsorted)(const void *block, int64_t begin, int64_t end);
void KERNEL(searchsorted)(const void *block, int64_t begin, int64_t end)
{
    const adzi_search_args *args = block;
    const elem *values = args->values;
    for (int64_t i = begin; i < end; ++i) {
        const elem *slice = (const elem *)args->sorted + i / args->per * args->n;
        const elem value = values[i];
        int64_t from = 0;
        for (int64_t left = args->n; left > 0;) {
            const int64_t half = left / 2;
            const elem middle = slice[from + half];
            const bool before =
                args->right ? !COMES_BEFORE(value, middle) : COMES_BEFORE(middle, value);
            from += before ? half + 1 : 0;
            left = before ? left - half - 1 : half;
        }
        args->y[i] = from;
    }
}

#undef COMES_BEFORE
#endif
