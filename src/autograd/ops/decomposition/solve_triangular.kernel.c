/* Kernels of solve_triangular. */
#ifndef elem
#define THIS_FILE "autograd/ops/decomposition/solve_triangular.kernel.c"
#include "autograd/ops/decomposition/solve_triangular.kernel.h"

#include "tensor/gemm/gemm.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "autograd/ops/decomposition/loops/lanes.kernel.h"
#include "autograd/ops/decomposition/loops/triangular.kernel.h"

static KERNEL(triangle) KERNEL(triangle_of)(const adzi_triangular_args *a, int64_t item)
{
    const elem *t = (const elem *)(const void *)a->a + adzi_lead_offset(&a->lead, item);
    return (KERNEL(triangle)){ t, a->ld, a->transposed, a->upper, a->unit };
}

/* Solves several small systems. */
static void KERNEL(solve_several)(const adzi_triangular_args *a, int64_t first, int64_t items)
{
    const int64_t n = a->n, k = a->k;
    KERNEL(room) t, b;
    elem *x = (elem *)(void *)a->x + first * n * k;
    const KERNEL(group) right = KERNEL(group_of)(x, n * k, items);
    KERNEL(group) g;
    for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
        g.from[l] = KERNEL(triangle_of)(a, first + (l < items ? l : items - 1)).t;
    }
    KERNEL(load_lanes)(t, &g, n, n, a->ld);
    KERNEL(load_lanes)(b, &right, n, k, k);
    for (int p = 0; p < KERNEL(parts); ++p) {
        KERNEL(solve_lanes)
        ((KERNEL(lanes) *)t + p, n, a->transposed, a->upper, a->unit, (KERNEL(lanes) *)b + p, k);
    }
    KERNEL(store_lanes)(x, n * k, items, b, n * k);
}

void KERNEL(solve_triangular)(const void *block, int64_t begin, int64_t end)
{
    const adzi_triangular_args *a = block;
    const bool small = a->n <= ADZI_LANES_MOST && a->k <= ADZI_LANES_MOST;
    for (int64_t item = begin, items; item < end; item += items) {
        items = small ? adzi_lanes_of(end - item, ADZI_MATRIX_LANES) : 1;
        if (items > 1) {
            KERNEL(solve_several)(a, item, items);
            continue;
        }
        const KERNEL(triangle) t = KERNEL(triangle_of)(a, item);
        KERNEL(solve_triangle)(&t, a->n, (elem *)(void *)a->x + item * a->n * a->k, a->k, a->k);
    }
}

void KERNEL(zero_diagonal)(const void *block, int64_t begin, int64_t end)
{
    const adzi_triangular_args *a = block;
    for (int64_t item = begin; item < end; ++item) {
        const KERNEL(triangle) t = KERNEL(triangle_of)(a, item);
        int64_t found = 0;
        for (int64_t i = a->n - 1; i >= 0; --i) {
            found = KERNEL(at)(&t, i, i) == 0 ? i + 1 : found;
        }
        a->found[item] = found;
    }
}

#endif
