/* f16 and bf16 as bit patterns; storage only, so plain portable C. */
#ifndef ADZI_TENSOR_HALF_H
#define ADZI_TENSOR_HALF_H

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
    uint32_t bits = adzi_bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u); /* stay NaN */
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float adzi_from_bf16(uint16_t half)
{
    return adzi_float_of((uint32_t)half << 16);
}

static inline uint16_t adzi_to_f16(float x)
{
    uint32_t bits = adzi_bits_of(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (rest >= 0x47800000u) { /* 65536 and above */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (rest >= 0x38800000u) { /* normal halves: rounding may carry into the exponent */
        uint32_t half = rest - 0x38000000u;
        return (uint16_t)(sign | ((half + 0xfffu + ((half >> 13) & 1u)) >> 13));
    }
    if (rest < 0x33000000u) { /* under half of the least subnormal */
        return (uint16_t)sign;
    }
    uint32_t shift = 126u - (rest >> 23), mantissa = (rest & 0x7fffffu) | 0x800000u;
    uint32_t kept = mantissa >> shift, lost = mantissa & ((1u << shift) - 1u),
             tie = 1u << (shift - 1u);
    kept += lost > tie || (lost == tie && (kept & 1u)) ? 1u : 0u;
    return (uint16_t)(sign | kept);
}

static inline float adzi_from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 31u) {
        return adzi_float_of(sign | 0x7f800000u | (mantissa << 13));
    }
    if (exponent != 0u) {
        return adzi_float_of(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    }
    float magnitude = (float)mantissa * 0x1p-24f;
    return sign != 0u ? -magnitude : magnitude;
}

#endif
