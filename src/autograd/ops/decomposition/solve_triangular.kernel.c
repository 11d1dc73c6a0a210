/* Kernels of solve_triangular. */
#ifndef elem
#define THIS_FILE "autograd/ops/decomposition/solve_triangular.kernel.c"
#include "autograd/ops/decomposition/solve_triangular.kernel.h"

#include "tensor/gemm/gemm.h"

#include "tensor/kernel/each_float.h"
#else
#include "autograd/ops/decomposition/triangular.kernel.h"

static KERNEL(triangle) KERNEL(triangle_of)(const adzi_triangular_args *a, int64_t item)
{
    const elem *t = (const elem *)(const void *)a->a + adzi_lead_offset(&a->lead, item);
    return (KERNEL(triangle)){ t, a->ld, a->transposed, a->upper, a->unit };
}

void KERNEL(solve_triangular)(const void *block, int64_t begin, int64_t end)
{
    const adzi_triangular_args *a = block;
    for (int64_t item = begin; item < end; ++item) {
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
