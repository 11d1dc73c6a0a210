/* Rounding of f32 operands to bf16, for products at ADZ_MATMUL_MEDIUM (tensor/gemm/medium.c).
 *
 *     gemm_round f32             the rounded values, stored as f32
 *     gemm_round bf16            the rounded values, stored as bf16
 *     gemm_round_transposed bf16 stored as bf16 and transposed
 *
 * Rounding is to nearest, ties to even. A unit of gemm_round is one row of one item; elements are
 * contiguous along a row. Elements are independent, so neither threads nor vectors change a bit. */
#include "tensor/gemm/round.h"
#include "tensor/kernel/half.h"
#include "base/isa.h"

/* x as a bf16 in the upper half of the result. A NaN stays a NaN and is made quiet. Without a
 * branch, so that loops vectorise. */
static inline uint32_t rounded(float x)
{
    uint32_t bits = adzi_bits_of(x);
    uint32_t nearest = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    return (bits & 0x7fffffffu) > 0x7f800000u ? quiet : nearest;
}

/* The body of gemm_round for results of type elem, where VALUE turns rounded bits into one. The
 * columns of a result are stored in groups of r->length: all rows of the first group, then of the
 * next. */
#define ROUND_ROWS(elem, VALUE)                                                          \
    const adzi_round_args *r = opaque;                                                   \
    for (int64_t unit = begin; unit < end; ++unit) {                                     \
        int64_t item = unit / r->rows, row = unit % r->rows;                             \
        const float *from = r->from + item * r->stride + row * r->ld;                    \
        elem *to = (elem *)r->to + item * r->rows * r->columns;                          \
        for (int64_t c = 0; c < r->columns; c += r->length) {                            \
            int64_t left = r->columns - c, length = left < r->length ? left : r->length; \
            const float *restrict x = from + c;                                          \
            elem *restrict y = to + c * r->rows + row * length;                          \
            for (int64_t j = 0; j < length; ++j) {                                       \
                y[j] = VALUE(rounded(x[j]));                                             \
            }                                                                            \
        }                                                                                \
    }

#define AS_F32(bits)  adzi_float_of((bits)&0xffff0000u)
#define AS_BF16(bits) ((uint16_t)((bits) >> 16))

void KERNEL_OF(gemm_round, f32)(const void *opaque, int64_t begin, int64_t end)
{
    ROUND_ROWS(float, AS_F32)
}

void KERNEL_OF(gemm_round, bf16)(const void *opaque, int64_t begin, int64_t end)
{
    ROUND_ROWS(uint16_t, AS_BF16)
}

/* Rounds and transposes: from[rows, columns] of an item becomes to[columns, rows]. A unit is a run
 * of ADZI_ROUND_RUN columns of one item, whose elements in a row are contiguous. */
void KERNEL_OF(gemm_round_transposed, bf16)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_round_args *r = opaque;
    int64_t runs = (r->columns + ADZI_ROUND_RUN - 1) / ADZI_ROUND_RUN;
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t item = unit / runs, c = unit % runs * ADZI_ROUND_RUN, left = r->columns - c;
        int64_t length = left < ADZI_ROUND_RUN ? left : ADZI_ROUND_RUN;
        const float *from = r->from + item * r->stride + c;
        uint16_t *to = (uint16_t *)r->to + (item * r->columns + c) * r->rows;
        for (int64_t row = 0; row < r->rows; ++row) {
            for (int64_t j = 0; j < length; ++j) {
                to[j * r->rows + row] = AS_BF16(rounded(from[row * r->ld + j]));
            }
        }
    }
}
