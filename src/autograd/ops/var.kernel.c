#ifndef T
#define THIS_FILE "autograd/ops/var.kernel.c"
#include <math.h>
#include "autograd/ops/reduce.h"
#include "tensor/wide.kernel.h"
#include "tensor/each_float.h"
#else

#include "autograd/ops/reduce.kernel.h"

/* Mean and squared deviations from it: two passes over each chunk while it is at hand, and the rule
 * of Chan et al. to join chunks, so that a large mean costs no digits. */
typedef struct {
    double mean, squares;
    int64_t n;
} K(moments);

static inline void K(var_start)(K(moments) * s)
{
    s->mean = s->squares = 0;
    s->n = 0;
}

static inline void K(var_join)(K(moments) * s, const K(moments) * t)
{
    int64_t n = s->n + t->n;
    double d = t->mean - s->mean, part = (double)t->n / (double)n;
    s->mean += d * part;
    s->squares += t->squares + d * d * part * (double)s->n;
    s->n = n;
}

static inline void K(var_run)(
    K(moments) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    K(moments) chunk = { EIGHT(sum)(x, n, 0) / (double)n, 0, n };
    chunk.squares = EIGHT(squares)(x, n, chunk.mean);
    if (s->n == 0) {
        *s = chunk;
    } else {
        K(var_join)(s, &chunk);
    }
}

/* p[0] is the correction; p[1] asks for the root. */
static inline void K(var_end)(const K(moments) * s, const adzi_reduce_args *a, int64_t r)
{
    double divisor = (double)s->n - a->p[0];
    double y = s->squares / (divisor > 0 ? divisor : 0);
    ((T *)(void *)a->out)[r] = (T)(a->p[1] != 0 ? sqrt(y) : y);
}

REDUCTION(var, K(moments))

#endif
