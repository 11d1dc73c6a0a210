/* Q8_0: blocks of 32 weights in 34 bytes, which GGUF files hold. A block is a scale in f16 and 32
 * signed bytes; a weight is scale * byte. The product has 19 significant bits at most, so a weight
 * is exact in f32. */
#ifndef ADZI_TENSOR_KERNEL_Q8_0_H
#define ADZI_TENSOR_KERNEL_Q8_0_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/kernel/half.h"

enum {
    ADZI_Q8_0_VALUES = 32, /* weights of a block */
    ADZI_Q8_0_BYTES = 34   /* bytes of a block: two of the scale and one for each weight */
};

/* How many bytes after the first block that of element `at` begins. */
static inline int64_t adzi_q8_0_offset(int64_t at)
{
    return at / ADZI_Q8_0_VALUES * ADZI_Q8_0_BYTES;
}

/* The scale of a block, in f16. */
static inline uint16_t adzi_q8_0_scale(const uint8_t *block)
{
    return (uint16_t)(block[0] | block[1] << 8);
}

/* y[0 .. count - 1] of as many weights, whole blocks. */
static inline void adzi_q8_0_widen(float *restrict y, const uint8_t *block, int64_t count)
{
    for (; count > 0; count -= ADZI_Q8_0_VALUES, block += ADZI_Q8_0_BYTES, y += ADZI_Q8_0_VALUES) {
        const float scale = adzi_from_f16(adzi_q8_0_scale(block));
        int8_t bytes[ADZI_Q8_0_VALUES];
        memcpy(bytes, block + 2, sizeof bytes);
        for (int i = 0; i < ADZI_Q8_0_VALUES; ++i) {
            y[i] = scale * (float)bytes[i];
        }
    }
}

/* One block of 32 values. The largest magnitude becomes 127. The bytes are x / s, rounded to the
 * nearest with ties away from zero, where s is the largest magnitude / 127 before it is rounded to
 * f16. A block with a NaN or an infinity gets a scale that is not finite, so the fault stays
 * visible. A magnitude above 127 * 65504 overflows the scale in the same way. */
static inline void adzi_q8_0_round(uint8_t *block, const float *x)
{
    float most = 0, sum = 0;
    for (int i = 0; i < ADZI_Q8_0_VALUES; ++i) {
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
        sum += 0 * x[i]; /* NaN if an element is not finite */
    }
    const float step = sum == 0 ? most / 127 : sum;
    /* A smaller step would have an infinite inverse. Its scale is 0 in f16, and so are the weights.
     */
    const float inverse = sum == 0 && step >= FLT_MIN ? 1 / step : 0;
    const uint16_t scale = adzi_to_f16(step);
    block[0] = (uint8_t)(scale & 0xff);
    block[1] = (uint8_t)(scale >> 8);
    for (int i = 0; i < ADZI_Q8_0_VALUES; ++i) {
        const float value = sum == 0 ? x[i] * inverse : 0;
        const float whole = roundf(value);
        block[2 + i] = (uint8_t)(int8_t)(whole > 127 ? 127 : whole < -127 ? -127 : whole);
    }
}

#endif
