/* Large products in our own loops, on several threads. */
#include "tensor/gemm/loops.h"

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/isa.h"
#include "tensor/gemm/backend.h"
#include "tensor/gemm/cut.h"

KERNEL_TABLE_FLOAT(gemm_small);
KERNEL_TABLE_FLOAT(gemm_blocked);
#ifdef ADZI_KNOWS_BF16
void adzi_gemm_blocked_bf16_avx512(const void *, int64_t, int64_t);
#endif

enum {
    UNIT = 16, /* rows or columns of C that a thread gets at least: whole tiles of either kind */
    PLAIN_ROWS = 192,  /* rows of C at a time, whose pages the TLB holds */
    NEAR_ROWS = 16,    /* rows of C at a time if B fits the first-level cache */
    NEAR_BYTES = 32768 /* bytes of a B that fits the first-level cache */
};

typedef struct loops_args {
    adzi_gemm_cut cut;
    adzi_kernel copier; /* multiplies copies of the operands; NULL: reads the operands themselves */
} loops_args;

/* Computes a product from the operands where they are, a few rows of C at a time. */
static void multiply_in_place(adzi_gemm_args g)
{
    const bool near = g.n * g.k * adzi_gemm_item_size(&g) <= NEAR_BYTES;
    const int64_t rows = near ? NEAR_ROWS : PLAIN_ROWS;
    for (int64_t left = g.m; left > 0; left -= g.m) {
        g.m = left < 2 * rows ? left : rows;
        KERNEL_FOR(gemm_small, g.dtype)(&g, 0, 1);
        g.a = adzi_gemm_at(&g, g.a, g.m * (g.ta ? 1 : g.lda));
        g.c = (char *)g.c + g.m * g.ldc * adzi_gemm_item_size(&g);
    }
}

/* Computes blocks begin .. end - 1. If memory for copies is refused, the operands are read where
 * they are. */
static void compute_blocks(const void *opaque, int64_t begin, int64_t end)
{
    const loops_args *args = opaque;
    const size_t bytes = ADZI_GEMM_WORK((size_t)adzi_gemm_item_size(&args->cut.g));
    void *work = args->copier != NULL && begin < end ? adzi_alloc(bytes) : NULL;
    while (begin < end) {
        const adzi_gemm_block block = adzi_gemm_cut_next(&args->cut, &begin, end);
        const adzi_gemm_args part = adzi_gemm_part(&args->cut.g, &block);
        if (work != NULL) {
            args->copier(&(adzi_gemm_blocked_args){ &part, work }, 0, 1);
        } else {
            multiply_in_place(part);
        }
    }
    if (work != NULL) {
        adzi_free(work, bytes);
    }
}

static bool run(const adzi_gemm_args *g, adzi_kernel copier)
{
    const adzi_gemm_cut_rule rule = { .by_columns = g->n > g->m, .multiple = UNIT };
    const loops_args args = { adzi_gemm_cut_by(g, &rule), copier };
    ADZI_GEMM_LAUNCH_CUT(compute_blocks, &args);
    return true;
}

bool adzi_gemm_loops_run(const adzi_gemm_args *g)
{
    return run(g, NULL);
}

bool adzi_gemm_loops_run_copied(const adzi_gemm_args *g)
{
    return run(g, KERNEL_FOR(gemm_blocked, g->dtype));
}

bool adzi_gemm_loops_run_bf16(const adzi_gemm_args *g)
{
#ifdef ADZI_KNOWS_BF16
    return run(g, adzi_gemm_blocked_bf16_avx512);
#else
    return run(g, NULL);
#endif
}
