/* Kernels of linear combinations.
 *
 *     y_r = base + h sum_j a_rj x_j
 *
 * A unit is one element of a term. Elements are independent, so neither threads nor vectors change
 * a bit. Runs of elements that stay in the first-level cache take one term after the other.
 */
#ifndef elem
#define THIS_FILE "solvers/linear_combination.kernel.c"
#include "solvers/linear_combination.h"
#include "tensor/kernel/each_float.h"
#else

static void KERNEL(combination_row)(
    const adzi_combination_args *c, const double *a, elem *restrict y, int64_t from, int64_t n)
{
    const elem *first = (const elem *)c->x[0] + from;
    const elem weight = (elem)a[0], h = (elem)(c->length != NULL ? *c->length : c->h);
    for (int64_t i = 0; i < n; ++i) {
        y[i] = first[i] * weight;
    }
    for (int j = 1; j < c->n; ++j) {
        const elem *x = (const elem *)c->x[j] + from;
        const elem w = (elem)a[j];
        for (int64_t i = 0; i < n; ++i) {
            y[i] += x[i] * w;
        }
    }
    if (c->base != NULL) {
        const elem *base = (const elem *)c->base + from;
        for (int64_t i = 0; i < n; ++i) {
            y[i] = base[i] + y[i] * h;
        }
    } else {
        for (int64_t i = 0; i < n; ++i) {
            y[i] *= h;
        }
    }
}

void KERNEL(linear_combination)(const void *args, int64_t begin, int64_t end);
void KERNEL(linear_combination)(const void *args, int64_t begin, int64_t end)
{
    const adzi_combination_args *c = args;
    for (int64_t from = begin; from < end; from += ADZI_COMBINATION_RUN) {
        const int64_t n = end - from < ADZI_COMBINATION_RUN ? end - from : ADZI_COMBINATION_RUN;
        for (int64_t r = 0; r < c->rows; ++r) {
            KERNEL(combination_row)
            (c, c->weights != NULL ? c->weights + r * c->n : c->a,
                (elem *)c->y + r * c->numel + from, from, n);
        }
    }
}

/* dx += (dy h) w, or dx = (dy h) w in the first row. */
static void KERNEL(combination_term)(
    elem *restrict dx, const elem *restrict dy, elem h, elem w, bool first, int64_t n)
{
    if (first) {
        for (int64_t i = 0; i < n; ++i) {
            dx[i] = dy[i] * h * w;
        }
    } else {
        for (int64_t i = 0; i < n; ++i) {
            dx[i] += dy[i] * h * w;
        }
    }
}

/* The gradients of a sum without rows: -0, which changes no bit of what is added to it. */
static void KERNEL(combination_none)(const adzi_combination_args *c, int64_t from, int64_t n)
{
    for (int j = -1; j < c->n; ++j) {
        elem *dx = (elem *)(j < 0 ? c->dbase : c->dx[j]);
        for (int64_t i = 0; dx != NULL && i < n; ++i) {
            dx[from + i] = -(elem)0;
        }
    }
}

/* The gradients of all terms: dx_j = sum_r dy_r h a_rj, and dbase = sum_r dy_r. */
void KERNEL(linear_combination_backward)(const void *args, int64_t begin, int64_t end);
void KERNEL(linear_combination_backward)(const void *args, int64_t begin, int64_t end)
{
    const adzi_combination_args *c = args;
    const elem h = (elem)(c->length != NULL ? *c->length : c->h);
    const int64_t first = c->range != NULL ? c->range[0] : 0;
    const int64_t rows = c->range != NULL ? c->range[1] : c->rows;
    if (rows == 0) {
        KERNEL(combination_none)(c, begin, end - begin);
    }
    for (int64_t from = begin; from < end; from += ADZI_COMBINATION_RUN) {
        const int64_t n = end - from < ADZI_COMBINATION_RUN ? end - from : ADZI_COMBINATION_RUN;
        for (int64_t r = 0; r < rows; ++r) {
            const elem *dy = (const elem *)c->dy + (first + r) * c->numel + from;
            const double *a = c->weights != NULL ? c->weights + r * c->n : c->a;
            for (int j = 0; j < c->n; ++j) {
                if (c->dx[j] != NULL) {
                    KERNEL(combination_term)
                    ((elem *)c->dx[j] + from, dy, h, (elem)a[j], r == 0, n);
                }
            }
            if (c->dbase != NULL) {
                KERNEL(combination_term)((elem *)c->dbase + from, dy, 1, 1, r == 0, n);
            }
        }
    }
}

#endif
