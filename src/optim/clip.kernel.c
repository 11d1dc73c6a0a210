/* Kernels of clipping gradients, by their common norm or by value.
 *
 *     norm_sums   sums[k] = sum of |x|^p over block k, or max |x| for p = inf; negative: see the
 *                 note below
 *     clip_scale  x *= factor, where factor = max_norm / (norm + 1e-6) is below 1
 *     clip_limit  x = min(max(x, -limit), limit)
 *
 * A unit of norm_sums is a block of ADZI_NORM_BLOCK contiguous elements; the caller adds the blocks
 * in order, so the norm does not depend on the number of threads. A unit of the others is one
 * element. All sums are f64.
 */
#ifndef elem
#define THIS_FILE "optim/clip.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "optim/clip.h"
#include "tensor/kernel/real.h"
#include "tensor/kernel/each_float.h"
#else

/* The sum of squares. Element i is added to lane i % 8, and the lanes are joined in one order,
 * whatever the vector width. */
static inline double KERNEL(square_sum)(const elem *x, int64_t n)
{
    double lane[8] = { 0 };
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; ++j) {
            lane[j] += (double)x[i + j] * (double)x[i + j];
        }
    }
    for (int j = 0; i < n; ++i, ++j) {
        lane[j] += (double)x[i] * (double)x[i];
    }
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* The largest magnitude. A NaN is returned as soon as it is seen. */
static inline double KERNEL(largest)(const elem *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; ++i) {
        double size = fabs((double)x[i]);
        most = size > most || isnan(size) ? size : most;
        if (isnan(most)) {
            return most;
        }
    }
    return most;
}

/* Note [A norm beyond the range of its powers]
 *
 * Sums of powers may leave the range of f64 although the norm is an ordinary number: squares of
 * doubles, and high powers of floats. The kernel then writes minus the norm of the block instead of
 * its sum of powers, from elements divided by the largest of them. PyTorch's norm is infinite or 0
 * there, and clipping by an infinite norm makes all gradients 0. */
static __attribute__((noinline)) double KERNEL(minus_norm)(
    const elem *x, int64_t n, double p, double sum)
{
    int any = sum != 0; /* a block of zeros is found by a loop that vectorises */
    for (int64_t i = 0; i < n && sum == 0; ++i) {
        any |= x[i] != 0;
    }
    const double most = any ? KERNEL(largest)(x, n) : 0;
    double scaled = 0;
    if (most == 0 || !isfinite(most)) {
        return sum;
    }
    for (int64_t i = 0; i < n; ++i) {
        scaled += adzi_real_pow(fabs((double)x[i]) / most, p);
    }
    return -most * adzi_real_pow(scaled, 1 / p);
}

/* p = 2 and p = inf have their own loops; p = 1 needs no power. */
void KERNEL(norm_sums)(const void *block, int64_t begin, int64_t end);
void KERNEL(norm_sums)(const void *block, int64_t begin, int64_t end)
{
    const adzi_norm_args *args = block;
    for (int64_t k = begin; k < end; ++k) {
        int64_t start = k * ADZI_NORM_BLOCK, left = args->numel - start;
        int64_t n = left < ADZI_NORM_BLOCK ? left : ADZI_NORM_BLOCK;
        const elem *x = (const elem *)args->x + start;
        if (args->p == 2) {
            args->sums[k] = KERNEL(square_sum)(x, n);
        } else if (isinf(args->p)) {
            args->sums[k] = KERNEL(largest)(x, n);
        } else {
            double sum = 0;
            for (int64_t i = 0; i < n; ++i) {
                double size = fabs((double)x[i]);
                sum += args->p == 1 ? size : adzi_real_pow(size, args->p);
            }
            args->sums[k] = sum;
        }
        const bool in_range = args->sums[k] >= 1e-250 && args->sums[k] <= 1e250;
        if (!in_range && args->p != 1 && !isinf(args->p)) {
            args->sums[k] = KERNEL(minus_norm)(x, n, args->p, args->sums[k]);
        }
    }
}

/* The factor is read from memory, because an earlier launch computes it from the sums. */
void KERNEL(clip_scale)(const void *block, int64_t begin, int64_t end);
void KERNEL(clip_scale)(const void *block, int64_t begin, int64_t end)
{
    const adzi_clip_args *args = block;
    elem *x = (elem *)args->x, factor = (elem)*args->factor;
    if (*args->factor >= 1) { /* a NaN spreads, as it does in PyTorch */
        return;
    }
    for (int64_t i = begin; i < end; ++i) {
        x[i] *= factor;
    }
}

/* NaN fails both comparisons and stays. */
void KERNEL(clip_limit)(const void *block, int64_t begin, int64_t end);
void KERNEL(clip_limit)(const void *block, int64_t begin, int64_t end)
{
    const adzi_clip_args *args = block;
    elem *x = (elem *)args->x, limit = (elem)args->limit;
    for (int64_t i = begin; i < end; ++i) {
        x[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
    }
}

#endif
