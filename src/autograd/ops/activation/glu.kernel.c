#ifndef elem
#include "autograd/ops/activation/glu.h"

#define THIS_FILE "autograd/ops/activation/glu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* How many of y's elements from unit e on lie in one run. */
static inline int64_t KERNEL(left)(const adzi_glu_args *args, int64_t e, int64_t end)
{
    const int64_t in_run = args->run - e % args->run;
    return in_run < end - e ? in_run : end - e;
}

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

/* da = dy s and db = dy a s (1 - s), s = sigmoid(b) */
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
