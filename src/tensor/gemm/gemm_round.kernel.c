/* Rounding of f32 operands to values of bf16, for products at ADZ_MATMUL_MEDIUM
 * (tensor/gemm/medium.c). Rounding is to nearest, ties to even. Elements are independent, so
 * neither threads nor vectors change a bit. */
#include "tensor/gemm/round.h"
#include "tensor/kernel/half.h"
#include "base/isa.h"

/* x rounded to bf16. A NaN stays a NaN and is made quiet. Without a branch, so that loops
 * vectorise. */
static inline float rounded(float x)
{
    uint32_t bits = adzi_bits_of(x);
    uint32_t nearest = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    return adzi_float_of(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : nearest) & 0xffff0000u);
}

void KERNEL_OF(gemm_round, f32)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_round_args *r = opaque;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t item = unit / r->rows, row = unit % r->rows;
        const float *restrict x = r->from + item * r->stride + row * r->ld;
        float *restrict y = r->to + unit * r->columns;
        for (int64_t j = 0; j < r->columns; ++j) {
            y[j] = rounded(x[j]);
        }
    }
}
