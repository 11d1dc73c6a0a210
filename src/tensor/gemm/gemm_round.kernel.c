/* Operands rounded to bf16 for products at ADZ_MATMUL_MEDIUM (tensor/gemm/medium.c). */
#include "tensor/gemm/round.h"
#include "tensor/kernel/half.h"
#include "base/isa.h"

/* The upper half of the result is the bf16; without a branch, so that loops become vectors. */
static inline uint32_t rounded(float x)
{
    uint32_t bits = adzi_bits_of(x);
    uint32_t nearest = bits + 0x7fffu + ((bits >> 16) & 1u), quiet = bits | 0x400000u;
    return (bits & 0x7fffffffu) > 0x7f800000u ? quiet : nearest;
}

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

/* Turned as well: the item's [rows, columns] becomes [columns, rows]. Units are runs of
 * ADZI_ROUND_RUN columns of all items; every row's run is read at once. */
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
