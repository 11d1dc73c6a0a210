/* Operands that are stored as f16, bf16 or Q8_0, and copies of operands in f32.
 *
 * Note [Operands in half precision]
 * An operand of an f32 product may be stored as f16, as bf16 or in blocks of Q8_0
 * (adzi_gemm_args.a_stored, b_stored).
 * Its elements are widened, which is exact, and multiplied in f32. The result has the bits of a
 * product of operands that were widened before. The whole product chooses the implementation, and
 * its blocks are cut as in f32. Within a block, a thread widens as many rows of op(A) and columns
 * of op(B) as its cache holds, and computes that part of C. An element of C does not depend on
 * where rows and columns are cut, but a part must not be so thin that it is computed in another
 * way. So cuts are at multiples of 32, which is a block of Q8_0, and the last part has 32 or more.
 *
 * Dot products of few rows and sums of rows take as long as reading the larger operand takes. Their
 * kernels widen it in registers (tensor/kernel/vector_stored.h). Sums of rows get blocks of Q8_0
 * widened: only gradients need such a product, and training has many rows.
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
    UNIT = 32,             /* least rows or columns of a part */
    SPARE_DEPTH = 64       /* elements of k at a time where memory was refused */
};

bool adzi_gemm_has_stored(const adzi_gemm_args *g)
{
    return g->a_stored != 0 || g->b_stored != 0;
}

/* ---- parts of a product --------------------------------------------------------------------- */

/* Rows or columns at a time, of which `most` bytes hold as many as possible. */
static int64_t width_of(bool stored, int64_t extent, int64_t k, int64_t most)
{
    const int64_t fit = most / (int64_t)sizeof(float) / k / UNIT * UNIT;
    return stored ? adzi_gemm_least(fit < UNIT ? UNIT : fit, extent) : extent;
}

/* Bytes of an operand's widened part: the last one may have up to 31 rows or columns more. */
static size_t bytes_of(bool stored, int64_t width, int64_t k)
{
    const size_t bytes = (size_t)(width + UNIT - 1) * (size_t)k * sizeof(float);
    return stored ? (bytes + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT : 0;
}

adzi_gemm_widths adzi_gemm_widths_of(const adzi_gemm_args *g, int64_t most, bool a_whole)
{
    const bool a = g->a_stored != 0, b = g->b_stored != 0;
    adzi_gemm_widths widths = { .a = a,
        .b = b,
        .rows = width_of(a && !a_whole, g->m, g->k, most),
        .columns = width_of(b, g->n, g->k, most) };
    widths.for_a = bytes_of(a, widths.rows, g->k);
    widths.bytes = widths.for_a + bytes_of(b, widths.columns, g->k);
    return widths;
}

/* One side of a product: the rows of op(A) or the columns of op(B), and the fields that describe
 * it. */
typedef struct side {
    const void **at;
    int64_t *ld, *stride;
    uint8_t *stored;
    int64_t extent, k;
    bool along_k; /* stored as [extent, k], else as [k, extent] */
} side;

static side side_of(adzi_gemm_args *g, bool of_b)
{
    return of_b ? (side){ &g->b, &g->ldb, &g->stride_b, &g->b_stored, g->n, g->k, g->tb }
                : (side){ &g->a, &g->lda, &g->stride_a, &g->a_stored, g->m, g->k, !g->ta };
}

/* A copy of a side, for memory that is still to be named. */
static adzi_round_args copy_of(const side *s, bool rounds)
{
    return (adzi_round_args){ .from = *s->at,
        .stored = *s->stored,
        .rounds = rounds,
        .rows = s->along_k ? s->extent : s->k,
        .columns = s->along_k ? s->k : s->extent,
        .ld = *s->ld,
        .stride = *s->stride };
}

/* Makes the product read the copy. */
static void use_copy(const side *s, const adzi_round_args *copy)
{
    *s->at = copy->to;
    *s->ld = copy->columns;
    *s->stride = copy->stride == 0 ? 0 : copy->rows * copy->columns;
    *s->stored = 0;
}

/* Where the sides are widened, and how much of them at a time: rows of op(A), columns of op(B). */
typedef struct room {
    int64_t widths[2];
    float *to[2]; /* NULL: the side is in f32 */
} room;

static room room_of(const adzi_gemm_widths *widths, float *a, float *b)
{
    return (
        room){ { widths->rows, widths->columns }, { widths->a ? a : NULL, widths->b ? b : NULL } };
}

/* Rows or columns of the next part: all that are left if these are few more than `width`. */
static int64_t next_of(int64_t left, int64_t width)
{
    return left < width + UNIT ? left : width;
}

/* Computes a product in parts: rows of op(A), and then columns of op(B) for each of them. */
static void compute_side(const adzi_gemm_args *g, bool of_b, const room *r,
    adzi_gemm_compute compute, const void *opaque)
{
    const int64_t extent = of_b ? g->n : g->m;
    for (int64_t from = 0, count = 0; from < extent; from += count) {
        count = next_of(extent - from, r->widths[of_b]);
        const adzi_gemm_block block = of_b ? (adzi_gemm_block){ 0, 0, g->m, from, count }
                                           : (adzi_gemm_block){ 0, from, count, 0, g->n };
        adzi_gemm_args part = adzi_gemm_part(g, &block);
        part.relu = g->relu;
        if (r->to[of_b] != NULL) {
            const side s = side_of(&part, of_b);
            adzi_round_args copy = copy_of(&s, false);
            copy.to = r->to[of_b];
            kernels[adzi_cpu_level](&copy, 0, copy.rows);
            use_copy(&s, &copy);
        }
        if (of_b) {
            compute(opaque, &part);
        } else {
            compute_side(&part, true, r, compute, opaque);
        }
    }
}

/* Computes a product in parts of k that are added to C, with memory on the stack. */
static void compute_spare(const adzi_gemm_args *g, const adzi_gemm_widths *widths,
    adzi_gemm_compute compute, const void *opaque)
{
    _Alignas(ADZI_ALIGNMENT) float spare[2][SPARE_DEPTH * (2 * UNIT - 1)];
    adzi_gemm_widths least = *widths;
    least.rows = widths->a ? UNIT : g->m;
    least.columns = widths->b ? UNIT : g->n;
    const room r = room_of(&least, spare[0], spare[1]);
    adzi_gemm_args part = *g;
    for (int64_t p = 0; p < g->k; p += SPARE_DEPTH) {
        part.k = adzi_gemm_least(g->k - p, SPARE_DEPTH);
        part.a = adzi_gemm_at(g, g->a_stored, g->a, p * (g->ta ? g->lda : 1));
        part.b = adzi_gemm_at(g, g->b_stored, g->b, p * (g->tb ? 1 : g->ldb));
        part.relu = g->relu && p + part.k == g->k;
        compute_side(&part, false, &r, compute, opaque);
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
    const room r = room_of(widths, wide, (float *)((char *)wide + widths->for_a));
    compute_side(g, false, &r, compute, opaque);
}

/* ---- copies of whole operands --------------------------------------------------------------- */

/* Copies a side of all items, unless it can be read as it is. If the stride is 0, there is one
 * matrix. Sets `bytes` to the size of the copy, or to 0. False: memory was refused. */
static bool copy_side(const side *s, bool rounds, int64_t batch, size_t *bytes)
{
    adzi_round_args copy = copy_of(s, rounds);
    const int64_t items = copy.stride == 0 ? 1 : batch;
    const double count = (double)items * (double)copy.rows * (double)copy.columns;
    *bytes = 0;
    if (!rounds && copy.stored == 0) {
        return true;
    }
    const size_t size = count < 0x1p50 ? (size_t)count * sizeof(float) : 0;
    copy.to = size > 0 ? adzi_alloc_for_kernels(size) : NULL;
    if (copy.to == NULL) {
        return false;
    }
    adzi_launch(kernels[adzi_cpu_level], adzi_round_args, &copy, copy.rows * items,
        adzi_grain_of(ROUND_GRAIN, copy.columns));
    use_copy(s, &copy);
    *bytes = size;
    return true;
}

bool adzi_gemm_run_copies(
    const adzi_gemm_args *g, bool rounds, bool (*run)(const adzi_gemm_args *args))
{
    adzi_gemm_args copied = *g;
    const side a = side_of(&copied, false), b = side_of(&copied, true);
    size_t for_a = 0, for_b = 0;
    const bool good = copy_side(&a, rounds, g->batch, &for_a) &&
                      copy_side(&b, rounds, g->batch, &for_b) && run(&copied);
    if (for_a > 0) {
        adzi_free((void *)copied.a, for_a);
    }
    if (for_b > 0) {
        adzi_free((void *)copied.b, for_b);
    }
    return good;
}
