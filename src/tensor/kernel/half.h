/* f16 and bf16 as bit patterns; storage only, so plain portable C. */
#ifndef ADZI_TENSOR_KERNEL_HALF_H
#define ADZI_TENSOR_KERNEL_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t adzi_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float adzi_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint16_t adzi_to_bf16(float x)
{
    const uint32_t bits = adzi_bits_of(x), half = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : half); /* NaN */
}

static inline float adzi_from_bf16(uint16_t half)
{
    return adzi_float_of((uint32_t)half << 16);
}

/* To nearest, ties to even. All cases are computed and one is chosen, which makes vectors of it. */
static inline uint16_t adzi_to_f16(float x)
{
    const uint32_t bits = adzi_bits_of(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    /* A normal half has three exponent bits less; rounding may carry into the exponent, up to
     * infinity. */
    const uint32_t moved = rest - 0x38000000u;
    uint32_t half = (moved + 0xfffu + ((moved >> 13) & 1u)) >> 13;
    /* One half is a multiple of the least half, and the sum is rounded to such multiples. */
    const uint32_t least = adzi_bits_of(adzi_float_of(rest) + 0.5f) - 0x3f000000u;
    half = rest < 0x38800000u ? least : half;
    half = rest >= 0x47800000u ? 0x7c00u : half; /* 65536 and above */
    half = rest > 0x7f800000u ? 0x7e00u : half;
    return (uint16_t)(sign | half);
}

static inline float adzi_from_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    uint32_t bits = (rest << 13) + (112u << 23);
    const uint32_t tiny = adzi_bits_of((float)(int32_t)rest * 0x1p-24f);
    bits = rest < 0x0400u ? tiny : bits;
    bits = rest >= 0x7c00u ? 0x7f800000u | (rest << 13) : bits;
    return adzi_float_of(sign | bits);
}

#endif
