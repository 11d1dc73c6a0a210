/* Kernels of prod and of its derivative along rows.
 *
 *     y = x_0 x_1 ... x_(n-1),   dx_i = dy prod_(j != i) x_j
 *
 * A unit of prod_reduce is one result, or one block of a long one (reduce.kernel.h). Floats are
 * multiplied in eight lanes of f64, element i in lane i % 8 (Note [Eight lanes] in wide.kernel.h),
 * so the order of the products depends on n alone. Results that lie in runs of eight or more
 * (columns) are computed up to 64 at a time, each in the order of its elements.
 *
 * A unit of prod_backward is one contiguous row of at most 1024 elements. dx_i is computed without
 * a division, so that elements that are 0 have exact gradients.
 */
#ifndef elem
#include "tensor/kernel/wide.kernel.h"

#define THIS_FILE "ops/reduction/prod.kernel.c"
#include "ops/slices.h"
#include "ops/reduction/prod.kernel.h"
#include "ops/reduction/reduce.h"
#include "tensor/kernel/each_type.h"
#else

#include "ops/reduction/reduce.kernel.h"
#include "tensor/kernel/running.kernel.h"

#undef WIDEN
#if ELEM_IS_F32
#define WIDEN WIDEN_f32
#elif ELEM_IS_FLOAT
#define WIDEN WIDEN_f64
#endif

enum { KERNEL(lanes) = 8 }; /* independent products per row */

/* The product of n contiguous elements, element i in lane i % 8. The lanes of integers may be
 * joined in any order, since products modulo 2^64 are exact. */
static inline RUNNING KERNEL(product_of)(const elem *x, int64_t n)
{
    int64_t i = 0;
#if ELEM_IS_FLOAT
    eight product;
    double rest[KERNEL(lanes)];
    for (int p = 0; p < 8 / LANES; ++p) {
        product.part[p] = (wide){ 0 } + 1.0;
    }
    for (; i + KERNEL(lanes) <= n; i += KERNEL(lanes)) {
        for (int p = 0; p < 8 / LANES; ++p) {
            product.part[p] *= WIDEN(x + i + p * LANES);
        }
    }
    const int left = (int)(n - i);
    for (int j = 0; j < left; ++j) {
        rest[j] = (double)x[i + j];
    }
    return eight_product(&product, rest, left);
#else
    RUNNING lane[KERNEL(lanes)] = { 1, 1, 1, 1, 1, 1, 1, 1 }, all = 1;
    for (; i + KERNEL(lanes) <= n; i += KERNEL(lanes)) {
        for (int j = 0; j < KERNEL(lanes); ++j) {
            lane[j] *= (RUNNING)x[i + j];
        }
    }
    for (int j = 0; i < n; ++i, ++j) {
        lane[j] *= (RUNNING)x[i];
    }
    for (int j = 0; j < KERNEL(lanes); ++j) {
        all *= lane[j];
    }
    return all;
#endif
}

static inline void KERNEL(prod_start)(RUNNING *s)
{
    *s = 1;
}

static inline void KERNEL(prod_run)(
    RUNNING *s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    *s *= KERNEL(product_of)(x, n);
}

static inline void KERNEL(prod_join)(RUNNING *s, const RUNNING *t)
{
    *s *= *t;
}

static inline void KERNEL(prod_end)(const RUNNING *s, const adzi_reduce_args *a, int64_t r)
{
    ((OUT *)(void *)a->out)[r] = (OUT)*s;
}

/* Multiplies the products of w columns by rows of them, one row after the other. */
INLINE void KERNEL(multiply_rows)(
    void *state, const elem *x, int64_t w, int64_t rows, int64_t stride, bool first)
{
    RUNNING *restrict product = state;
    if (first) {
        for (int64_t j = 0; j < w; ++j) {
            product[j] = (RUNNING)x[j];
        }
    }
    for (int64_t i = first; i < rows; ++i) {
        for (int64_t j = 0; j < w; ++j) {
            product[j] *= (RUNNING)x[i * stride + j];
        }
    }
}

/* w contiguous results from r on. */
static int64_t KERNEL(prod_columns)(const adzi_reduce_args *a, int64_t r, int64_t w)
{
    RUNNING product[KERNEL(most_columns)];
    KERNEL(walk_columns)(a, r, w, KERNEL(multiply_rows), product);
    for (int64_t j = 0; j < w; ++j) {
        ((OUT *)(void *)a->out)[r + j] = (OUT)product[j];
    }
    return w;
}

/* Whether the results lie in runs that are long enough to be computed as columns. The layout alone
 * decides, and not the part of a run that a thread gets: columns multiply in the order of the
 * elements, and other results in lanes. */
static inline bool KERNEL(prod_has_columns)(const adzi_reduce_args *a)
{
    const int last = a->n_kept - 1;
    return last >= 0 && a->kept_strides[last] == 1 && a->kept[last] >= KERNEL(tile) &&
           a->n_reduced > 0;
}

/* The fast paths: contiguous rows of at most a chunk of 512 elements, and columns. Returns the
 * number of results that it has computed, 0 if the general walk has to. */
static int64_t KERNEL(prod_ways)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    if (a->partial != NULL || a->n == 0) {
        return 0;
    }
    if (!KERNEL(has_rows)(a) || a->n > KERNEL(chunk)) {
        return KERNEL(prod_has_columns)(a)
                   ? KERNEL(prod_columns)(
                         a, begin, KERNEL(tile_width)(a, begin, end, KERNEL(most_columns)))
                   : 0;
    }
    const elem *x = (const elem *)(const void *)a->in + begin * a->kept_strides[0];
    for (int64_t r = begin; r < end; ++r, x += a->kept_strides[0]) {
        ((OUT *)(void *)a->out)[r] = (OUT)KERNEL(product_of)(x, a->n);
    }
    return end - begin;
}

REDUCTION_WITH(prod, RUNNING, KERNEL(prod_ways))

#if ELEM_IS_FLOAT
/* other[j] = dy times the product of all lanes except lane j, without a division: lanes are joined
 * in pairs (j, j + 4) and in two groups of pairs, and each is left out on the way back. */
static inline void KERNEL(other_lanes)(double *other, const double *lane, double dy)
{
    double four[4], of_four[4];
    for (int j = 0; j < 4; ++j) {
        four[j] = lane[j] * lane[j + 4];
    }
    const double even = four[0] * four[2] * dy, odd = four[1] * four[3] * dy;
    for (int j = 0; j < 4; ++j) {
        of_four[j] = four[(j + 2) % 4] * (j % 2 == 0 ? odd : even);
    }
    for (int j = 0; j < 4; ++j) {
        other[j] = of_four[j] * lane[j + 4];
        other[j + 4] = of_four[j] * lane[j];
    }
}

/* s[i] = dy times the product of all elements except x[i], in two passes over rows of eight lanes.
 * The backward pass stores the product of the later elements of the lane of i. The forward pass
 * multiplies it by dy, the other lanes, and the earlier elements of the lane. s has room for whole
 * rows of lanes; the last one is padded with 1. */
static inline void KERNEL(others)(double *s, const elem *x, int64_t n, double dy)
{
    const int64_t blocks = (n + KERNEL(lanes) - 1) / KERNEL(lanes);
    double lane[KERNEL(lanes)] = { 1, 1, 1, 1, 1, 1, 1, 1 }, other[KERNEL(lanes)];
    elem last[KERNEL(lanes)];
    for (int j = 0; j < KERNEL(lanes); ++j) {
        const int64_t i = (blocks - 1) * KERNEL(lanes) + j;
        last[j] = i < n ? x[i] : 1;
    }
    eight product;
    memcpy(&product, lane, sizeof product);
    for (int64_t b = blocks - 1; b >= 0; --b) {
        const elem *from = b == blocks - 1 ? last : x + b * KERNEL(lanes);
        for (int p = 0; p < 8 / LANES; ++p) {
            const wide part = product.part[p];
            memcpy(s + b * KERNEL(lanes) + p * LANES, &part, sizeof part);
            product.part[p] = part * WIDEN(from + p * LANES);
        }
    }
    memcpy(lane, &product, sizeof product);
    KERNEL(other_lanes)(other, lane, dy);
    memcpy(&product, other, sizeof product);
    for (int64_t b = 0; b < blocks; ++b) {
        const elem *from = b == blocks - 1 ? last : x + b * KERNEL(lanes);
        for (int p = 0; p < 8 / LANES;
             ++p) { /* one register at a time, or gcc keeps `product` in memory */
            wide behind;
            memcpy(&behind, s + b * KERNEL(lanes) + p * LANES, sizeof behind);
            behind *= product.part[p];
            memcpy(s + b * KERNEL(lanes) + p * LANES, &behind, sizeof behind);
            product.part[p] *= WIDEN(from + p * LANES);
        }
    }
}

/* in: x as rows of n elements, and one dy per row. A unit is one row; its gradients go through an
 * f64 buffer of 8 KiB and are rounded once. */
void KERNEL(prod_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = block;
    double s[ADZI_PROD_BACKWARD_MOST];
    for (int64_t r = begin; r < end; ++r) {
        elem *dx = (elem *)(void *)a->out + r * a->n;
        const double dy = (double)((const elem *)(const void *)a->in[1])[r];
        KERNEL(others)(s, (const elem *)(const void *)a->in[0] + r * a->n, a->n, dy);
        for (int64_t i = 0; i < a->n; ++i) {
            dx[i] = (elem)s[i];
        }
    }
}
#endif

#endif
