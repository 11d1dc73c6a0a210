/* Kernels of the gated linear unit, whose input is halved along one dimension into a and b.
 *
 *     y  = a s,   s = sigmoid(b)
 *     da = dy s,   db = dy a s (1 - s)
 *
 * A unit is one element of y. adzi_glu_args in glu.h explains how runs of a and of b alternate in
 * x. Within a run all operands are contiguous, so the loops over a run vectorise.
 */
#ifndef elem
#include "ops/activation/glu.h"

#define THIS_FILE "ops/activation/glu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* How many elements of y, from unit e on and before `end`, are contiguous in x too. A part of the
 * launch may begin and end within a run, so the position in the run comes from a division. It is
 * made once per run and not per element. */
static inline int64_t KERNEL(left)(const adzi_glu_args *args, int64_t e, int64_t end)
{
    const int64_t in_run = args->run - e % args->run;
    return in_run < end - e ? in_run : end - e;
}

/* y = a sigmoid(b), run by run. e / run * run + e is the offset in x of the a that belongs to
 * element e of y. An element depends on one a and one b only, so no order of units changes a bit.
 */
void KERNEL(glu)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_glu_args *args = opaque;
    for (int64_t e = begin, n; e < end; e += n) {
        n = KERNEL(left)(args, e, end);
        const elem *a = (const elem *)args->x + e / args->run * args->run + e, *b = a + args->run;
        elem *y = (elem *)args->out + e;
        POINTWISE_FOR(int64_t i = 0; i < n; ++i)
        {
            y[i] = a[i] * VMATH(sigmoid)(b[i]);
        }
    }
}

/* da and db of one element in one pass. dx has the layout of x: da and db are written to the
 * positions of a and b. The sigmoid is computed once for both, and db takes dy s from da. */
void KERNEL(glu_backward)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_glu_args *args = opaque;
    for (int64_t e = begin, n; e < end; e += n) {
        n = KERNEL(left)(args, e, end);
        const int64_t at = e / args->run * args->run + e;
        const elem *a = (const elem *)args->x + at, *b = a + args->run,
                   *dy = (const elem *)args->dy + e;
        elem *da = (elem *)args->out + at, *db = da + args->run;
        POINTWISE_FOR(int64_t i = 0; i < n; ++i)
        {
            const elem s = VMATH(sigmoid)(b[i]), g = dy[i] * s;
            da[i] = g;
            db[i] = g * a[i] * (ELEM(1) - s);
        }
    }
}

#endif
