/* Large products in our own loops, cut between threads. */
#include "tensor/gemm_loops.h"

#include "tensor/alloc.h"
#include "tensor/gemm_backend.h"
#include "tensor/isa.h"
#include "tensor/parallel.h"

KERNEL_TABLE_FLOAT(gemm_small);
KERNEL_TABLE_FLOAT(gemm_blocked);

enum {
    UNIT = 48,             /* rows or columns of C: whole tiles of either kind */
    LAUNCH_WORK = 1 << 18, /* multiply-adds that are worth a thread */
    COPIED_WORK = 1 << 24  /* multiply-adds of which copies save more than they cost */
};

/* A batch, each product of which is cut along the longer side of C. */
typedef struct cut {
    const adzi_gemm_args *g;
    bool copies; /* blocks of the operands, or reads these where they lie */
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

/* One rectangle of C. */
static void multiply(const cut *c, const adzi_gemm_block *b, void *work)
{
    adzi_gemm_args g = *c->g;
    const size_t size = element_bytes(&g);
    g.m = b->rows;
    g.n = b->columns;
    g.a = at(g.a, b->item * g.stride_a + b->row * (g.ta ? 1 : g.lda), size);
    g.b = at(g.b, b->item * g.stride_b + b->column * (g.tb ? g.ldb : 1), size);
    g.c = (char *)g.c + (size_t)(b->item * g.stride_c + b->row * g.ldc + b->column) * size;
    g.bias = g.bias != NULL ? at(g.bias, b->column, size) : NULL;
    g.relu = false;
    if (work != NULL) {
        KERNEL_FOR(gemm_blocked, g.dtype)(&(adzi_gemm_blocked_args){ &g, work }, 0, 1);
    } else {
        KERNEL_FOR(gemm_small, g.dtype)(&g, 0, 1);
    }
}

/* Units are those of all items; neighbours are one rectangle. Without memory for copies, BLAS does
 * what they were for. */
static void compute_units(const void *opaque, int64_t begin, int64_t end)
{
    const cut *c = opaque;
    const size_t bytes = ADZI_GEMM_WORK(element_bytes(c->g));
    void *work = c->copies && begin < end ? adzi_alloc(bytes) : NULL;
    while (begin < end) {
        const int64_t first = begin % c->units, count = least(c->units - first, end - begin);
        const int64_t from = first * UNIT;
        const int64_t to = first + count == c->units ? c->extent : from + count * UNIT;
        adzi_gemm_block b = { begin / c->units, 0, c->g->m, 0, c->g->n };
        *(c->by_columns ? &b.column : &b.row) = from;
        *(c->by_columns ? &b.columns : &b.rows) = to - from;
        if (c->copies && work == NULL) {
            adzi_gemm_own_block(c->g, &b, false);
        } else {
            multiply(c, &b, work);
        }
        begin += count;
    }
    if (work != NULL) {
        adzi_free(work, bytes);
    }
}

static bool copies(double work)
{
    return adzi_gemm_backend_choice == ADZI_GEMM_OURS_COPIED ||
           (adzi_gemm_backend_choice != ADZI_GEMM_OURS && work > COPIED_WORK);
}

void adzi_gemm_loops_run(const adzi_gemm_args *g)
{
    const double work = (double)g->m * (double)g->n * (double)g->k;
    cut c = { .g = g, .copies = copies(work), .by_columns = g->n > g->m };
    c.extent = c.by_columns ? g->n : g->m;
    c.units = c.extent < UNIT ? 1 : c.extent / UNIT;
    const double each = work / (double)c.units;
    adzi_launch(compute_units, &c, c.units * g->batch,
        each < LAUNCH_WORK ? (int64_t)(LAUNCH_WORK / (each < 1 ? 1 : each)) : 1);
}
