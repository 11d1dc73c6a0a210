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

#include "base/context.h"
#include "base/cpu.h"
#include "base/threads/thread.h"
#include "tensor/gemm/cut.h"
#include "tensor/gemm/half.h"
#include "tensor/gemm/loops.h"

enum {
    LEAST_NATIVE_WORK = 1 << 18, /* with fewer multiply-adds, bf16 code costs more than it saves */
};

adzi_bf16_choice adzi_gemm_bf16_choice = ADZI_BF16_BY_RULE;

static bool run_f32(const adzi_gemm_args *g)
{
    adzi_gemm_run_f32(g);
    return true;
}

/* True at ADZ_MATMUL_MEDIUM for a product that reads its operands. */
bool adzi_gemm_medium_supports(const adzi_gemm_args *g)
{
    return g->dtype == ADZ_F32 && g->k > 0 && g->alpha != 0 && adzi_is_medium(adzi_self()->context);
}

bool adzi_gemm_medium_supports_ours(const adzi_gemm_args *g)
{
    if (!adzi_gemm_medium_supports(g) || g->m == 1 || g->n == 1) {
        return false;
    }
    return adzi_gemm_bf16_choice == ADZI_BF16_BY_RULE
               ? adzi_cpu_has_fast_bf16() && adzi_gemm_work(g) >= LEAST_NATIVE_WORK
               : adzi_gemm_bf16_choice == ADZI_BF16_OURS && adzi_cpu_has_bf16();
}

bool adzi_gemm_medium_run_rounded(const adzi_gemm_args *g)
{
    return adzi_gemm_run_copies(g, true, run_f32);
}
