#ifndef elem
#define THIS_FILE "autograd/ops/reduction/var.kernel.c"
#include <math.h>
#include "autograd/ops/reduction/reduce.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/reduction/reduce.kernel.h"

/* The mean, as origin + offset, and the squared deviations from it. The origin is an element, so
 * that the distances of the others from it are exact where all lie far from 0: the mean itself
 * would be rounded there by more than the means of two parts differ. Two passes over each chunk
 * while it is at hand, and the rule of Chan et al. to join chunks. */
typedef struct {
    double origin, offset, squares;
    int64_t n;
} KERNEL(moments);

static inline void KERNEL(var_start)(KERNEL(moments) * s)
{
    s->origin = s->offset = s->squares = 0;
    s->n = 0;
}

static inline void KERNEL(var_join)(KERNEL(moments) * s, const KERNEL(moments) * t)
{
    int64_t n = s->n + t->n;
    double d = (t->origin - s->origin) + (t->offset - s->offset);
    double part = (double)t->n / (double)n;
    s->offset += d * part;
    s->squares += t->squares + d * d * part * (double)s->n;
    s->n = n;
}

/* The squares are taken around the mean as it is rounded, and corrected by what was rounded off. */
static inline void KERNEL(var_run)(
    KERNEL(moments) * s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    KERNEL(moments) chunk = { .origin = (double)x[0], .n = n };
    chunk.offset = EIGHT(distances)(x, n, chunk.origin) / (double)n;
    double mean = chunk.origin + chunk.offset, rounded = chunk.offset - (mean - chunk.origin);
    chunk.squares = EIGHT(squares)(x, n, mean) - (double)n * rounded * rounded;
    chunk.squares = chunk.squares < 0 ? 0 : chunk.squares;
    if (s->n == 0) {
        *s = chunk;
    } else {
        KERNEL(var_join)(s, &chunk);
    }
}

/* p[0] is the correction; p[1] asks for the root. */
static inline void KERNEL(var_end)(const KERNEL(moments) * s, const adzi_reduce_args *a, int64_t r)
{
    double divisor = (double)s->n - a->p[0];
    double y = s->squares / (divisor > 0 ? divisor : 0);
    ((elem *)(void *)a->out)[r] = (elem)(a->p[1] != 0 ? sqrt(y) : y);
}

REDUCTION(var, KERNEL(moments))

#endif
