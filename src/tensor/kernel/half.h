/* Conversions of f16 and bf16, which are bit patterns in uint16_t, from and to f32.
 *
 * Both dtypes are storage only, so conversions are all there is. Rounding is to nearest, ties to
 * even. What is too large for f16 becomes infinity. A NaN keeps its sign and its upper bits, and
 * becomes quiet. Instructions of x86 and ARM give these bits.
 *
 * aarch64 has an instruction for f16, of which compilers make loops over vectors. Elsewhere the
 * conversions are branch-free portable C: every case is computed and one is selected, so that loops
 * vectorise. */
#ifndef ADZI_TENSOR_KERNEL_HALF_H
#define ADZI_TENSOR_KERNEL_HALF_H

#include <stdbool.h>
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

/* f32 to bf16, which has the upper 16 bits of an f32. A NaN keeps its upper bits and becomes quiet.
 */
static inline uint16_t adzi_to_bf16(float x)
{
    const uint32_t bits = adzi_bits_of(x), half = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : half); /* NaN */
}

static inline float adzi_from_bf16(uint16_t half)
{
    return adzi_float_of((uint32_t)half << 16);
}

/* An f32 that the conversions below round as x itself: rounded to f32 first, x would be rounded
 * twice. It is x cut off, with the last bit set if anything was lost ("round to odd"). */
static inline float adzi_half_source_f64(double x)
{
    const float near = (float)x;
    const double wide = (double)near;
    const uint32_t beyond = (x < 0 ? wide < x : wide > x) ? 1u : 0u;
    return adzi_float_of((adzi_bits_of(near) - beyond) | (wide != x ? 1u : 0u));
}

/* An f32 that rounds to the f16 or bf16 to which the integer rounds. f64 holds 53 bits, so a larger
 * integer is cut first, and its last bit says whether lower bits were lost. */
static inline float adzi_half_source_i64(int64_t i)
{
    const bool small = i > -(INT64_C(1) << 53) && i < INT64_C(1) << 53;
    const int64_t lost = i & 0x7ff, cut = (i - lost) | (lost != 0 ? 0x800 : 0);
    return adzi_half_source_f64((double)(small ? i : cut));
}

#ifdef __aarch64__

static inline uint16_t adzi_to_f16(float x)
{
    const __fp16 half = (__fp16)x;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}

static inline float adzi_from_f16(uint16_t bits)
{
    __fp16 half;
    memcpy(&half, &bits, sizeof half);
    return (float)half;
}

#else

/* f32 to f16, with 5 exponent bits and 10 bits of mantissa. */
static inline uint16_t adzi_to_f16(float x)
{
    const uint32_t bits = adzi_bits_of(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    /* Normal results: the exponent's bias changes from 127 to 15. Rounding may carry into the
     * exponent, up to infinity. */
    const uint32_t moved = rest - 0x38000000u;
    uint32_t half = (moved + 0xfffu + ((moved >> 13) & 1u)) >> 13;
    /* Denormal results: after adding 0.5, the last bit of an f32 is worth 2^-24, the least f16. */
    const uint32_t least = adzi_bits_of(adzi_float_of(rest) + 0.5f) - 0x3f000000u;
    half = rest < 0x38800000u ? least : half;
    half = rest >= 0x47800000u ? 0x7c00u : half;                        /* 65536 and above */
    half = rest > 0x7f800000u ? 0x7e00u | (rest >> 13 & 0x3ffu) : half; /* NaN */
    return (uint16_t)(sign | half);
}

/* f16 to f32, which is exact. Denormals are integers times 2^-24. */
static inline float adzi_from_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    uint32_t bits = (rest << 13) + (112u << 23);
    const uint32_t tiny = adzi_bits_of((float)(int32_t)rest * 0x1p-24f);
    bits = rest < 0x0400u ? tiny : bits;
    const uint32_t quiet = rest > 0x7c00u ? 0x7fc00000u : 0x7f800000u; /* NaN, or infinity */
    bits = rest >= 0x7c00u ? quiet | (rest << 13) : bits;
    return adzi_float_of(sign | bits);
}

#endif

#endif
