/* f32 products at a lower precision, as adz_set_matmul_precision() allows it.
 *
 * Note [Medium products]
 * At ADZ_MATMUL_MEDIUM both operands of an f32 product are rounded to bf16, to nearest even, and
 * their products are summed in f32. A product of two bf16 values is exact in f32, so the only other
 * error is that of the sums. Two ways lead there:
 *
 * - On AMD's processors with AVX512_BF16, where vdpbf16ps takes no longer than an FMA, our own
 * loops round while they copy (gemm_blocked.kernel.c).
 * - Elsewhere the rounded values go through the f32 product.
 *
 * Both give the same values up to the order of the sums, except that vdpbf16ps takes values below
 * f32's least normal number for 0. Rounded copies live in memory from adzi_alloc() for the time of
 * the call. Where that memory is refused, the product is computed in f32 from the operands as they
 * are: a product cannot fail, and this one is only closer to the truth than was asked for.
 */
#include "tensor/gemm/medium.h"

#include <stdatomic.h>

#include "adze/precision.h"
#include "base/alloc.h"
#include "base/context.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/isa.h"
#include "base/threads/parallel.h"
#include "base/capture.h"
#include "base/threads/thread.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/loops.h"
#include "tensor/gemm/round.h"

ADZI_DECLARE_KERNEL(gemm_round, f32);
static const adzi_kernel kernels[ADZI_CPU_LEVELS] = { ADZI_KERNEL_COLUMN(gemm_round, f32, baseline),
    ADZI_KERNEL_COLUMN(gemm_round, f32, avx2), ADZI_KERNEL_COLUMN(gemm_round, f32, avx512) };

enum {
    ROUND_GRAIN = 1 << 15,       /* so many elements are worth a thread */
    LEAST_NATIVE_WORK = 1 << 18, /* with fewer multiply-adds, bf16 code costs more than it saves */
};

adzi_bf16_choice adzi_gemm_bf16_choice = ADZI_BF16_BY_RULE;

adz_status adz_set_matmul_precision(adz_matmul_precision precision)
{
    if (precision != ADZ_MATMUL_HIGHEST && precision != ADZ_MATMUL_HIGH &&
        precision != ADZ_MATMUL_MEDIUM) {
        return adzi_error("adz_set_matmul_precision", ADZ_ERR_ARGUMENT,
            "%d is none of ADZ_MATMUL_HIGHEST, ADZ_MATMUL_HIGH, ADZ_MATMUL_MEDIUM", (int)precision);
    }
    atomic_store_explicit(
        &adzi_self()->context->matmul_precision, (int)precision, memory_order_relaxed);
    return ADZ_OK;
}

adz_matmul_precision adz_get_matmul_precision(void)
{
    return (adz_matmul_precision)atomic_load_explicit(
        &adzi_self()->context->matmul_precision, memory_order_relaxed);
}

const char *adz_matmul_precision_info(void)
{
    return adzi_cpu_has_fast_bf16()
               ? "medium: bf16 on AVX512_BF16, by adze's own loops"
               : "medium: rounded to bf16, multiplied in f32 (this processor has no fast bf16)";
}

/* ---- rounding ------------------------------------------------------------------------------- */

/* One operand: the stored matrices of a batch. If the stride is 0, there is one matrix. */
typedef struct operand {
    const float *from;
    int64_t rows, columns, ld, stride, items;
} operand;

/* The number of elements of an operand, or 0 if it is 2^50 or more. */
static int64_t elements(const operand *o)
{
    double count = (double)o->items * (double)o->rows * (double)o->columns;
    return count < 0x1p50 ? o->items * o->rows * o->columns : 0;
}

/* Rounds an operand to memory, as f32 with the values of bf16. */
static void round_operand(const operand *o, float *to)
{
    const adzi_round_args args = { .from = o->from,
        .rows = o->rows,
        .columns = o->columns,
        .ld = o->ld,
        .stride = o->stride,
        .to = to };
    adzi_launch(
        kernels[adzi_cpu_level], &args, o->rows * o->items, adzi_grain_of(ROUND_GRAIN, o->columns));
}

/* Both operands, rounded, in one block of memory. The pointer is NULL if memory was refused. */
typedef struct rounded_pair {
    void *block;
    float *a, *b;
    size_t bytes;
} rounded_pair;

/* Rounds both operands to one new block. False if memory was refused. */
static bool round_pair(const operand *a, const operand *b, rounded_pair *out)
{
    int64_t in_a = elements(a), in_b = elements(b);
    if (in_a == 0 || in_b == 0) {
        return false;
    }
    const size_t for_a =
        ((size_t)in_a * sizeof(float) + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT;
    out->bytes = for_a + (size_t)in_b * sizeof(float);
    out->block = adzi_alloc_for_kernels(out->bytes);
    if (out->block == NULL) {
        return false;
    }
    out->a = out->block;
    out->b = (float *)((char *)out->block + for_a);
    round_operand(a, out->a);
    round_operand(b, out->b);
    return true;
}

static operand operand_a(const adzi_gemm_args *g)
{
    return (operand){ .from = g->a,
        .rows = g->ta ? g->k : g->m,
        .columns = g->ta ? g->m : g->k,
        .ld = g->lda,
        .stride = g->stride_a,
        .items = g->stride_a == 0 ? 1 : g->batch };
}

static operand operand_b(const adzi_gemm_args *g)
{
    return (operand){ .from = g->b,
        .rows = g->tb ? g->n : g->k,
        .columns = g->tb ? g->k : g->n,
        .ld = g->ldb,
        .stride = g->stride_b,
        .items = g->stride_b == 0 ? 1 : g->batch };
}

/* ---- multiplying ---------------------------------------------------------------------------- */

/* True at ADZ_MATMUL_MEDIUM for a product that reads its operands. */
bool adzi_gemm_medium_takes(const adzi_gemm_args *g)
{
    return g->dtype == ADZ_F32 && g->k > 0 && g->alpha != 0 && adzi_is_medium(adzi_self()->context);
}

bool adzi_gemm_medium_takes_ours(const adzi_gemm_args *g)
{
    if (!adzi_gemm_medium_takes(g) || g->m == 1 || g->n == 1) {
        return false;
    }
    return adzi_gemm_bf16_choice == ADZI_BF16_BY_RULE
               ? adzi_cpu_has_fast_bf16() && adzi_gemm_work(g) >= LEAST_NATIVE_WORK
               : adzi_gemm_bf16_choice == ADZI_BF16_OURS && adzi_cpu_has_bf16();
}

bool adzi_gemm_medium_run_rounded(const adzi_gemm_args *g)
{
    rounded_pair pair;
    const operand a = operand_a(g), b = operand_b(g);
    if (!round_pair(&a, &b, &pair)) {
        return false;
    }
    adzi_gemm_args rounded = *g;
    rounded.a = pair.a;
    rounded.b = pair.b;
    rounded.lda = a.columns;
    rounded.ldb = b.columns;
    rounded.stride_a = g->stride_a == 0 ? 0 : a.rows * a.columns;
    rounded.stride_b = g->stride_b == 0 ? 0 : b.rows * b.columns;
    adzi_gemm_run_f32(&rounded);
    adzi_free(pair.block, pair.bytes);
    return true;
}
