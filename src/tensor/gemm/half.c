/* Operands that are stored as f16 or bf16, and copies of operands in f32.
 *
 * Note [Operands in half precision]
 * An operand of an f32 product may be stored as f16 or bf16 (adzi_gemm_args.a_stored, b_stored).
 * Its elements are widened, which is exact, and multiplied in f32. The result has the bits of a
 * product of operands that were widened before. The whole product chooses the implementation, and
 * its blocks are cut as in f32. Within a block, a thread widens as many rows of op(A) and columns
 * of op(B) as its cache holds, and computes that part of C. An element of C does not depend on
 * where rows and columns are cut, but a part must not be so thin that it is computed in another
 * way. So cuts are at multiples of 16, and the last part has 16 or more.
 *
 * Dot products of few rows and sums of rows take as long as reading the larger operand takes. Their
 * kernels widen it in registers (gemm_stored.kernel.h).
 *
 * Implementations that read the operands by themselves, such as OpenBLAS, get copies of whole
 * operands, which live for the call. */
#include "tensor/gemm/half.h"

#include "base/alloc.h"
#include "base/capture.h"
#include "base/isa.h"
#include "base/threads/parallel.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/round.h"

ADZI_DECLARE_KERNEL(gemm_round, f32);
static const adzi_kernel kernels[ADZI_CPU_LEVELS] = { ADZI_KERNEL_COLUMN(gemm_round, f32, baseline),
    ADZI_KERNEL_COLUMN(gemm_round, f32, avx2), ADZI_KERNEL_COLUMN(gemm_round, f32, avx512) };

enum {
    ROUND_GRAIN = 1 << 15, /* so many elements are worth a thread */
    UNIT = 16,             /* least rows or columns of a part */
    SPARE_DEPTH = 128      /* elements of k at a time where memory was refused */
};

bool adzi_gemm_has_half(const adzi_gemm_args *g)
{
    return adzi_is_half((adz_dtype)g->a_stored) || adzi_is_half((adz_dtype)g->b_stored);
}

/* ---- parts of a product --------------------------------------------------------------------- */

/* Rows or columns at a time, of which `most` bytes hold as many as possible. */
static int64_t width_of(bool half, int64_t extent, int64_t k, int64_t most)
{
    const int64_t fit = most / (int64_t)sizeof(float) / k / UNIT * UNIT;
    return half ? adzi_gemm_least(fit < UNIT ? UNIT : fit, extent) : extent;
}

/* Bytes of an operand's widened part: the last one may have up to 15 rows or columns more. */
static size_t bytes_of(bool half, int64_t width, int64_t k)
{
    const size_t bytes = (size_t)(width + UNIT - 1) * (size_t)k * sizeof(float);
    return half ? (bytes + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT : 0;
}

adzi_gemm_widths adzi_gemm_widths_of(const adzi_gemm_args *g, int64_t most, bool a_whole)
{
    const bool a = adzi_is_half((adz_dtype)g->a_stored), b = adzi_is_half((adz_dtype)g->b_stored);
    adzi_gemm_widths widths = { .a = a,
        .b = b,
        .rows = width_of(a && !a_whole, g->m, g->k, most),
        .columns = width_of(b, g->n, g->k, most) };
    widths.for_a = bytes_of(a, widths.rows, g->k);
    widths.bytes = widths.for_a + bytes_of(b, widths.columns, g->k);
    return widths;
}

/* Widens a stored matrix in half precision and returns the copy, which has no gaps. */
static const float *widen(
    uint8_t stored, const void *from, int64_t rows, int64_t columns, int64_t ld, float *to)
{
    const adzi_round_args args = { .from = from,
        .stored = (adz_dtype)stored,
        .rows = rows,
        .columns = columns,
        .ld = ld,
        .to = to };
    kernels[adzi_cpu_level](&args, 0, rows);
    return to;
}

/* Where operands are widened, and how much of them at a time. */
typedef struct room {
    adzi_gemm_widths widths;
    float *a, *b;
} room;

/* Rows or columns of the next part: all that are left if these are few more than `width`. */
static int64_t next_of(int64_t left, int64_t width)
{
    return left < width + UNIT ? left : width;
}

/* Computes all columns of a product whose A is in f32. */
static void compute_columns(
    const adzi_gemm_args *g, const room *r, adzi_gemm_compute compute, const void *opaque)
{
    for (int64_t j = 0, n = 0; j < g->n; j += n) {
        n = next_of(g->n - j, r->widths.columns);
        adzi_gemm_args part =
            adzi_gemm_part(g, &(adzi_gemm_block){ .rows = g->m, .column = j, .columns = n });
        if (r->widths.b) {
            const int64_t columns = part.tb ? part.k : n;
            part.b = widen(part.b_stored, part.b, part.tb ? n : part.k, columns, part.ldb, r->b);
            part.ldb = columns;
            part.b_stored = ADZ_F32;
        }
        part.relu = g->relu;
        compute(opaque, &part);
    }
}

/* Computes all rows of a product. */
static void compute_rows(
    const adzi_gemm_args *g, const room *r, adzi_gemm_compute compute, const void *opaque)
{
    for (int64_t i = 0, m = 0; i < g->m; i += m) {
        m = next_of(g->m - i, r->widths.rows);
        adzi_gemm_args part =
            adzi_gemm_part(g, &(adzi_gemm_block){ .row = i, .rows = m, .columns = g->n });
        if (r->widths.a) {
            const int64_t columns = part.ta ? m : part.k;
            part.a = widen(part.a_stored, part.a, part.ta ? part.k : m, columns, part.lda, r->a);
            part.lda = columns;
            part.a_stored = ADZ_F32;
        }
        part.relu = g->relu;
        compute_columns(&part, r, compute, opaque);
    }
}

/* Computes a product in parts of k that are added to C, with memory on the stack. */
static void compute_spare(const adzi_gemm_args *g, const adzi_gemm_widths *widths,
    adzi_gemm_compute compute, const void *opaque)
{
    _Alignas(ADZI_ALIGNMENT) float spare[2][SPARE_DEPTH * (2 * UNIT - 1)];
    room r = { *widths, spare[0], spare[1] };
    r.widths.rows = widths->a ? UNIT : g->m;
    r.widths.columns = widths->b ? UNIT : g->n;
    adzi_gemm_args part = *g;
    for (int64_t p = 0; p < g->k; p += SPARE_DEPTH) {
        part.k = adzi_gemm_least(g->k - p, SPARE_DEPTH);
        part.a = adzi_gemm_at(g, g->a_stored, g->a, p * (g->ta ? g->lda : 1));
        part.b = adzi_gemm_at(g, g->b_stored, g->b, p * (g->tb ? 1 : g->ldb));
        part.relu = g->relu && p + part.k == g->k;
        compute_rows(&part, &r, compute, opaque);
        part.beta = 1;
        part.bias = NULL;
    }
}

void adzi_gemm_in_widths(const adzi_gemm_args *g, const adzi_gemm_widths *widths, void *wide,
    adzi_gemm_compute compute, const void *opaque)
{
    if (wide == NULL) {
        compute_spare(g, widths, compute, opaque);
        return;
    }
    const room r = { *widths, wide, (float *)((char *)wide + widths->for_a) };
    compute_rows(g, &r, compute, opaque);
}

/* ---- copies of whole operands --------------------------------------------------------------- */

/* One operand: the stored matrices of a batch. If the stride is 0, there is one matrix. */
typedef struct operand {
    adzi_round_args copy;
    int64_t items;
} operand;

static operand operand_a(const adzi_gemm_args *g, bool rounds)
{
    return (operand){ .copy = { .from = g->a,
                          .stored = (adz_dtype)g->a_stored,
                          .rounds = rounds,
                          .rows = g->ta ? g->k : g->m,
                          .columns = g->ta ? g->m : g->k,
                          .ld = g->lda,
                          .stride = g->stride_a },
        .items = g->stride_a == 0 ? 1 : g->batch };
}

static operand operand_b(const adzi_gemm_args *g, bool rounds)
{
    return (operand){ .copy = { .from = g->b,
                          .stored = (adz_dtype)g->b_stored,
                          .rounds = rounds,
                          .rows = g->tb ? g->n : g->k,
                          .columns = g->tb ? g->k : g->n,
                          .ld = g->ldb,
                          .stride = g->stride_b },
        .items = g->stride_b == 0 ? 1 : g->batch };
}

/* Makes a copy of an operand, unless it can be read as it is. */
static bool copy_operand(operand *o, const void **at, int64_t *ld, int64_t *stride, size_t *bytes)
{
    adzi_round_args *copy = &o->copy;
    const double count = (double)o->items * (double)copy->rows * (double)copy->columns;
    *bytes = 0;
    if (!copy->rounds && !adzi_is_half(copy->stored)) {
        return true;
    }
    if (count >= 0x1p50) {
        return false;
    }
    *bytes = (size_t)(o->items * copy->rows * copy->columns) * sizeof(float);
    copy->to = adzi_alloc_for_kernels(*bytes);
    if (copy->to == NULL) {
        return false;
    }
    adzi_launch(kernels[adzi_cpu_level], copy, copy->rows * o->items,
        adzi_grain_of(ROUND_GRAIN, copy->columns));
    *at = copy->to;
    *ld = copy->columns;
    *stride = *stride == 0 ? 0 : copy->rows * copy->columns;
    return true;
}

bool adzi_gemm_run_copies(
    const adzi_gemm_args *g, bool rounds, bool (*run)(const adzi_gemm_args *args))
{
    operand a = operand_a(g, rounds), b = operand_b(g, rounds);
    adzi_gemm_args copied = *g;
    size_t for_a = 0, for_b = 0;
    copied.a_stored = copied.b_stored = ADZ_F32;
    bool good = copy_operand(&a, &copied.a, &copied.lda, &copied.stride_a, &for_a) &&
                copy_operand(&b, &copied.b, &copied.ldb, &copied.stride_b, &for_b);
    good = good && run(&copied);
    if (a.copy.to != NULL) {
        adzi_free(a.copy.to, for_a);
    }
    if (b.copy.to != NULL) {
        adzi_free(b.copy.to, for_b);
    }
    return good;
}
