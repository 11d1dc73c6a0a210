/* Copies of operands in f32 (tensor/gemm/half.c). Elements in half precision or in blocks are
 * widened. For products at ADZ_MATMUL_MEDIUM all elements are rounded to values of bf16, to
 * nearest, ties to even. Elements are independent, so neither threads nor vectors change a bit. */
#include "tensor/gemm/round.h"
#include "tensor/kernel/q8_0.h"
#include "tensor/gemm/gemm.h"
#include "base/isa.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

/* x rounded to bf16, as an f32. */
static inline float rounded(float x)
{
    return adzi_from_bf16(adzi_to_bf16(x));
}

/* y[0 .. n - 1] from f16, by the instruction for it where there is one. */
static void widen_f16(float *restrict y, const uint16_t *restrict x, int64_t n)
{
    int64_t j = 0;
#if defined(__AVX512F__)
    for (; j + 16 <= n; j += 16) {
        _mm512_storeu_ps(y + j, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(x + j))));
    }
#elif defined(__F16C__)
    for (; j + 8 <= n; j += 8) {
        _mm256_storeu_ps(y + j, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(x + j))));
    }
#endif
    for (; j < n; ++j) {
        y[j] = adzi_from_f16(x[j]);
    }
}

/* Rounds y[0 .. n - 1] to bf16. */
static void round_row(float *y, int64_t n)
{
    for (int64_t j = 0; j < n; ++j) {
        y[j] = rounded(y[j]);
    }
}

/* One row. The elements of `from` have the type `stored`, of which `value` makes an f32. */
#define COPY_ROW(stored, value)                               \
    {                                                         \
        const stored *restrict x = (const stored *)from + at; \
        for (int64_t j = 0; j < r->columns; ++j) {            \
            y[j] = value(x[j]);                               \
        }                                                     \
    }
#define ROUNDED_F16(x) rounded(adzi_from_f16(x))

void KERNEL_OF(gemm_round, f32)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_round_args *r = opaque;
    const void *from = r->from;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t at = unit / r->rows * r->stride + unit % r->rows * r->ld;
        float *restrict y = r->to + unit * r->columns;
        if (r->stored == ADZ_BF16) {
            COPY_ROW(uint16_t, adzi_from_bf16)
        } else if (r->stored == ADZI_STORED_Q8_0) {
            adzi_q8_0_widen(y, (const uint8_t *)from + adzi_q8_0_offset(at), r->columns);
            round_row(y, r->rounds ? r->columns : 0);
        } else if (r->stored == ADZ_F16 && r->rounds) {
            COPY_ROW(uint16_t, ROUNDED_F16)
        } else if (r->stored == ADZ_F16) {
            widen_f16(y, (const uint16_t *)from + at, r->columns);
        } else {
            COPY_ROW(float, rounded)
        }
    }
}
