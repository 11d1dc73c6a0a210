/* Large products in our own loops, cut between threads. */
#include "tensor/gemm/gemm_loops.h"

#include "base/alloc.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm_backend.h"
#include "base/isa.h"
#include "base/parallel.h"

KERNEL_TABLE_FLOAT(gemm_small);
KERNEL_TABLE_FLOAT(gemm_blocked);
#ifdef ADZI_KNOWS_BF16
void adzi_gemm_blocked_bf16_avx512(const void *, int64_t, int64_t);
#endif

enum {
    UNIT = 16,             /* rows or columns of C: tiles of either kind, if not whole ones */
    LAUNCH_WORK = 1 << 18, /* multiply-adds that are worth a thread */
    COPIED_SIDE = 48,      /* least side of C where copies pay, and */
    COPIED_WORK = 1 << 24, /* least multiply-adds, or */
    COPIED_C = 1 << 18,    /* least elements of C with */
    COPIED_DEPTH = 16,     /* least k */
    PLAIN_ROWS = 192,      /* of C at a time, whose pages stay at hand from strip to strip; */
    FEW_ROWS = 16,         /* while B stays at hand, so many, which are then written in order */
    NEAR_BYTES = 32768     /* B that stays at hand */
};

/* A batch, each product of which is cut along the longer side of C. */
typedef struct cut {
    adzi_gemm_args g;
    adzi_kernel copier; /* works on copies, if there is memory; NULL: reads what there is */
    bool by_columns;
    int64_t extent; /* of that side */
    int64_t units;  /* per item; the last one takes what is left too */
} cut;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t element_bytes(const adzi_gemm_args *g)
{
    return g->dtype == ADZ_F32 ? sizeof(float) : sizeof(double);
}

static const void *at(const void *base, int64_t elements, size_t size)
{
    return (const char *)base + (size_t)elements * size;
}

/* With the operands where they lie, some rows of C after others. */
static void multiply_plainly(adzi_gemm_args g)
{
    const size_t size = element_bytes(&g);
    const int64_t rows = (size_t)(g.n * g.k) * size <= NEAR_BYTES ? FEW_ROWS : PLAIN_ROWS;
    for (int64_t left = g.m; left > 0; left -= g.m) {
        g.m = left < 2 * rows ? left : rows;
        KERNEL_FOR(gemm_small, g.dtype)(&g, 0, 1);
        g.a = at(g.a, g.m * (g.ta ? 1 : g.lda), size);
        g.c = (char *)g.c + (size_t)(g.m * g.ldc) * size;
    }
}

/* One rectangle of C. */
static void multiply(const cut *c, const adzi_gemm_block *b, void *work)
{
    adzi_gemm_args g = c->g;
    const size_t size = element_bytes(&g);
    g.m = b->rows;
    g.n = b->columns;
    g.a = at(g.a, b->item * g.stride_a + b->row * (g.ta ? 1 : g.lda), size);
    g.b = at(g.b, b->item * g.stride_b + b->column * (g.tb ? g.ldb : 1), size);
    g.c = (char *)g.c + (size_t)(b->item * g.stride_c + b->row * g.ldc + b->column) * size;
    g.bias = g.bias != NULL ? at(g.bias, b->column, size) : NULL;
    g.relu = false;
    if (work != NULL) {
        c->copier(&(adzi_gemm_blocked_args){ &g, work }, 0, 1);
    } else {
        multiply_plainly(g);
    }
}

/* Units are those of all items; neighbours are one rectangle. Where copies find no memory, the
 * operands are read where they lie. */
static void compute_units(const void *opaque, int64_t begin, int64_t end)
{
    const cut *c = opaque;
    const size_t bytes = ADZI_GEMM_WORK(element_bytes(&c->g));
    void *work = c->copier != NULL && begin < end ? adzi_alloc(bytes) : NULL;
    while (begin < end) {
        const int64_t first = begin % c->units, count = least(c->units - first, end - begin);
        const int64_t from = first * UNIT;
        const int64_t to = first + count == c->units ? c->extent : from + count * UNIT;
        adzi_gemm_block b = { begin / c->units, 0, c->g.m, 0, c->g.n };
        *(c->by_columns ? &b.column : &b.row) = from;
        *(c->by_columns ? &b.columns : &b.rows) = to - from;
        multiply(c, &b, work);
        begin += count;
    }
    if (work != NULL) {
        adzi_free(work, bytes);
    }
}

static double work_of(const adzi_gemm_args *g)
{
    return (double)g->m * (double)g->n * (double)g->k;
}

/* Measured on a Zen 5 (bench-gemm backends and backends64). */
static bool copies(const adzi_gemm_args *g)
{
    if (adzi_gemm_backend_choice >= ADZI_GEMM_OURS) {
        return adzi_gemm_backend_choice == ADZI_GEMM_OURS_COPIED;
    }
    const double c = (double)g->m * (double)g->n;
    return least(g->m, g->n) >= COPIED_SIDE &&
           (work_of(g) >= COPIED_WORK || (c >= COPIED_C && g->k >= COPIED_DEPTH));
}

static void run(const adzi_gemm_args *g, adzi_kernel copier)
{
    cut c = { .g = *g, .copier = copier, .by_columns = g->n > g->m };
    c.extent = c.by_columns ? g->n : g->m;
    c.units = c.extent < UNIT ? 1 : c.extent / UNIT;
    const double each = work_of(g) / (double)c.units;
    adzi_launch(compute_units, &c, c.units * g->batch,
        each < LAUNCH_WORK ? (int64_t)(LAUNCH_WORK / (each < 1 ? 1 : each)) : 1);
}

void adzi_gemm_loops_run(const adzi_gemm_args *g)
{
    run(g, copies(g) ? KERNEL_FOR(gemm_blocked, g->dtype) : NULL);
}

void adzi_gemm_loops_run_bf16(const adzi_gemm_args *g)
{
#ifdef ADZI_KNOWS_BF16
    run(g, adzi_gemm_blocked_bf16_avx512);
#else
    run(g, NULL);
#endif
}
