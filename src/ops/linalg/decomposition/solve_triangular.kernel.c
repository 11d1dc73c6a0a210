/* Kernels of solve_triangular. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/solve_triangular.kernel.c"
#include "ops/linalg/decomposition/solve_triangular.kernel.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/lanes.kernel.h"
#include "ops/linalg/decomposition/loops/triangular.kernel.h"

static KERNEL(triangle) KERNEL(triangle_of)(const adzi_triangular_args *a, int64_t item)
{
    const elem *t = (const elem *)(const void *)a->a + adzi_batch_offset(&a->batch, item);
    return (KERNEL(triangle)){ t, a->ld, a->transposed, a->upper, a->unit };
}

/* The first zero of a diagonal, counted from 1, or 0. */
static int64_t KERNEL(first_zero)(const KERNEL(triangle) * t, int64_t n)
{
    int64_t found = 0;
    for (int64_t i = n - 1; i >= 0; --i) {
        found = t->t[i * t->ld + i] == 0 ? i + 1 : found;
    }
    return found;
}

/* The first zeros of the diagonals of several matrices. */
static inline void KERNEL(zeros_of_lanes)(
    const elem *restrict t, int64_t n, int64_t matrices, int64_t *restrict found)
{
    elem first[ADZI_MATRIX_LANES] = { 0 };
    for (int64_t i = n - 1; i >= 0; --i) {
        const elem *d = t + LANE(i * n + i);
        for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
            first[l] = d[l] == 0 ? (elem)(i + 1) : first[l];
        }
    }
    for (int64_t l = 0; l < matrices; ++l) {
        found[l] = (int64_t)first[l];
    }
}

/* Solves several small systems. */
static void KERNEL(solve_several)(const adzi_triangular_args *a, int64_t first, int64_t matrices)
{
    const int64_t n = a->n, k = a->k;
    KERNEL(room) t, b;
    elem *x = (elem *)(void *)a->x + first * n * k;
    const KERNEL(group) right = KERNEL(group_of)(x, n * k, matrices);
    KERNEL(group) g;
    for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
        g.from[l] = KERNEL(triangle_of)(a, first + (l < matrices ? l : matrices - 1)).t;
    }
    KERNEL(load_lanes)(t, &g, n, n, a->ld);
    KERNEL(load_lanes)(b, &right, n, k, k);
    if (a->found != NULL) {
        KERNEL(zeros_of_lanes)(t, n, matrices, a->found + first);
    }
    for (int p = 0; p < KERNEL(parts); ++p) {
        KERNEL(solve_lanes)
        ((KERNEL(lanes) *)t + p, n, a->transposed, a->upper, a->unit, (KERNEL(lanes) *)b + p, k);
    }
    KERNEL(store_lanes)(x, n * k, matrices, b, n * k);
}

void KERNEL(solve_triangular)(const void *block, int64_t begin, int64_t end)
{
    const adzi_triangular_args *a = block;
    const bool small = a->n <= ADZI_LANES_MOST && a->k <= ADZI_LANES_MOST;
    for (int64_t item = begin, matrices; item < end; item += matrices) {
        matrices = small ? adzi_lanes_of(end - item, ADZI_MATRIX_LANES) : 1;
        if (matrices > 1) {
            KERNEL(solve_several)(a, item, matrices);
            continue;
        }
        const KERNEL(triangle) t = KERNEL(triangle_of)(a, item);
        if (a->found != NULL) {
            a->found[item] = KERNEL(first_zero)(&t, a->n);
        }
        KERNEL(solve_triangle)(&t, a->n, (elem *)(void *)a->x + item * a->n * a->k, a->k, a->k);
    }
}

void KERNEL(zero_diagonal)(const void *block, int64_t begin, int64_t end)
{
    const adzi_triangular_args *a = block;
    for (int64_t item = begin; item < end; ++item) {
        const KERNEL(triangle) t = KERNEL(triangle_of)(a, item);
        a->found[item] = KERNEL(first_zero)(&t, a->n);
    }
}

#endif
