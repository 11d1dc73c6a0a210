/* Kernel of var and std.
 *
 *     var = sum_i (x_i - mean)^2 / (n - p[0]),   std = sqrt(var) where p[1] is set
 *
 * A unit is one result, or one block of a long one (reduce.kernel.h). Each chunk of at most 512
 * elements is read twice, while it is in cache: for its mean and for the squared deviations from
 * it. Chunks are joined by the formula of Chan, Golub and LeVeque (1979). Sums run in eight lanes
 * of f64, in an order that depends on the shape alone. The derivative is an expression of operators
 * (var.c).
 */
#ifndef elem
#define THIS_FILE "autograd/ops/reduction/var.kernel.c"
#include <math.h>
#include "autograd/ops/reduction/reduce.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/reduction/reduce.kernel.h"

/* The state: the mean of n elements as origin + offset, and the sum of the squared deviations. The
 * origin is the first element. Where all elements are far from 0, their distances from the origin
 * are exact, while the mean as one number would be rounded by more than two chunks differ. */
typedef struct {
    double origin, offset, squares;
    int64_t n;
} KERNEL(moments);

static inline void KERNEL(var_start)(KERNEL(moments) * s)
{
    s->origin = s->offset = s->squares = 0;
    s->n = 0;
}

/* Adds the state t. d is the difference of the two means. */
static inline void KERNEL(var_join)(KERNEL(moments) * s, const KERNEL(moments) * t)
{
    int64_t n = s->n + t->n;
    double d = (t->origin - s->origin) + (t->offset - s->offset);
    double part = (double)t->n / (double)n;
    s->offset += d * part;
    s->squares += t->squares + d * d * part * (double)s->n;
    s->n = n;
}

/* Adds a chunk of n contiguous elements. Deviations are taken from the rounded mean. Their sum of
 * squares is too large by n times the square of the rounding error, which is subtracted. */
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

/* p[0] is the correction, 1 for the unbiased estimate; p[1] asks for the root. A divisor of 0 or
 * less counts as 0, as in PyTorch. */
static inline void KERNEL(var_end)(const KERNEL(moments) * s, const adzi_reduce_args *a, int64_t r)
{
    double divisor = (double)s->n - a->p[0];
    double y = s->squares / (divisor > 0 ? divisor : 0);
    ((elem *)(void *)a->out)[r] = (elem)(a->p[1] != 0 ? sqrt(y) : y);
}

REDUCTION(var, KERNEL(moments))

#endif
