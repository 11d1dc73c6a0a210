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
#define THIS_FILE "ops/reduction/var.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "ops/reduction/reduce.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "ops/reduction/reduce.kernel.h"

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

#if !ELEM_IS_F32
/* Note [The scale of a variance]
 *
 * Squares of doubles far from 1 overflow or vanish, and so do differences of elements at opposite
 * ends of the range, although the standard deviation is an ordinary number. Such a result is
 * computed again from elements divided by a power of 2, which is exact, so that the largest of them
 * lies between 1/2 and 1. All other results cost one comparison more. Floats are summed in doubles
 * and need none of this. PyTorch gives infinity or 0 there. */
static inline bool KERNEL(in_range)(double squares)
{
    return squares >= 1e-250 && squares <= 1e250;
}

/* 2^e times x for |e| up to 2100. One factor alone might be outside the range. */
static inline double KERNEL(times_power)(double x, int e)
{
    return x * ldexp(1, e / 2) * ldexp(1, e - e / 2);
}

/* One pass over the elements of result r: the largest magnitude (pass 0), the sum of distances from
 * the first element (pass 1), or of squared deviations from the mean origin + offset (pass 2). The
 * last two divide elements by 2^e. */
static double KERNEL(pass)(const adzi_reduce_args *a, int64_t r, int pass, int e, double offset)
{
    const elem *x = (const elem *)(const void *)a->in + KERNEL(result_offset)(a, r);
    const double origin = KERNEL(times_power)((double)x[0], -e);
    int64_t index[ADZ_MAX_RANK] = { 0 }, at = 0;
    double total = 0;
    for (int64_t i = 0; i < a->n; ++i) {
        const double d = KERNEL(times_power)((double)x[at], -e) - origin;
        if (pass == 0) {
            const double size = fabs((double)x[at]);
            total = size > total || size != size ? size : total;
        } else {
            total += pass == 1 ? d : (d - offset) * (d - offset);
        }
        at = KERNEL(next_offset)(a, index, at);
    }
    return total;
}

/* Slow path, see Note [The scale of a variance]: y is the result as it was computed. It is kept for
 * a single element, for zeros, and for elements that are not finite. */
static __attribute__((noinline)) double KERNEL(var_again)(
    const adzi_reduce_args *a, int64_t r, double divisor, double y)
{
    const double most = a->n > 1 ? KERNEL(pass)(a, r, 0, 0, 0) : 0;
    if (most == 0 || !isfinite(most)) {
        return y;
    }
    int e;
    frexp(most, &e);
    const double offset = KERNEL(pass)(a, r, 1, e, 0) / (double)a->n;
    const double variance = KERNEL(pass)(a, r, 2, e, offset) / divisor;
    return a->p[1] != 0 ? ldexp(sqrt(variance), e) : ldexp(variance, 2 * e);
}
#endif

/* p[0] is the correction, 1 for the unbiased estimate; p[1] asks for the root. A divisor of 0 or
 * less counts as 0, as in PyTorch. */
static inline void KERNEL(var_end)(const KERNEL(moments) * s, const adzi_reduce_args *a, int64_t r)
{
    double divisor = (double)s->n - a->p[0];
    divisor = divisor > 0 ? divisor : 0;
    double y = s->squares / divisor;
    y = a->p[1] != 0 ? sqrt(y) : y;
#if !ELEM_IS_F32
    if (!KERNEL(in_range)(s->squares)) {
        y = KERNEL(var_again)(a, r, divisor, y);
    }
#endif
    ((elem *)(void *)a->out)[r] = (elem)y;
}

REDUCTION(var, KERNEL(moments))

#endif
