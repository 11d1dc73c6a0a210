/* Conversions between dtypes, one kernel per pair: from_<source> of the target dtype.
 *
 * A unit is one element. Values are converted as in C: floats are truncated to integers, and
 * integers wrap. A float out of the range of i64, or NaN, gives INT64_MIN, of which narrower
 * integers keep the low bits. To bool, everything except 0 is true, NaN included. f16 and bf16 are
 * rounded to nearest, once. bool as a source is u8. */
#include "tensor/kernel/half.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/registers.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

/* x as an i64. C leaves the conversion undefined where x does not fit, so these are caught. */
static inline int64_t integer_of(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)

/* CONVERSION makes a kernel of the target type TY. gcc makes no vectors of the instructions that
 * round to f16. So where there are such instructions, the kernels of f16 make eight floats and
 * round them together. */
#define CONVERSION(...) POINTWISE1(__VA_ARGS__)

#if defined(ADZI_NEON)
#define ROUND_EIGHT(y, x) \
    vst1q_u16(y,          \
        vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(x)), vld1q_f32((x) + 4))))
#elif defined(__F16C__)
#define ROUND_EIGHT(y, x) \
    _mm_storeu_si128(     \
        (__m128i *)(void *)(y), _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT))
#endif

#define CONVERSION_IN_EIGHTS(name, TY, TX, FLOAT)                        \
    static void KERNEL(name##_loop)(                                     \
        void *out, const void *const *in, int64_t n, const double *none) \
    {                                                                    \
        TY *y = out;                                                     \
        const TX *x_ = in[0];                                            \
        (void)none;                                                      \
        for (; n >= 8; n -= 8, x_ += 8, y += 8) {                        \
            float eight[8];                                              \
            for (int i = 0; i < 8; ++i) {                                \
                POINTWISE_AT(TX, x);                                     \
                eight[i] = (FLOAT);                                      \
            }                                                            \
            ROUND_EIGHT(y, eight);                                       \
        }                                                                \
        for (int i = 0; i < (int)n; ++i) {                               \
            POINTWISE_AT(TX, x);                                         \
            y[i] = adzi_to_f16(FLOAT);                                   \
        }                                                                \
    }                                                                    \
    POINTWISE_KERNEL(name, ADZI_ITEMS(sizeof(TY), sizeof(TX), 0, 0))

/* FROM_SOME makes the kernels of the target type TY from sources that are no wider than f32, and
 * FROM_ALL those from every source. FROM_FLOAT, FROM_INT and FROM_HALF are the expressions for
 * sources that are floats, integers, and halves as floats. */
#define FROM_SOME(TY, FROM_FLOAT, FROM_INT, FROM_HALF)              \
    CONVERSION(from_f32, TY, float, FROM_FLOAT(x))                  \
    CONVERSION(from_u8, TY, uint8_t, FROM_INT(x))                   \
    CONVERSION(from_f16, TY, uint16_t, FROM_HALF(adzi_from_f16(x))) \
    CONVERSION(from_bf16, TY, uint16_t, FROM_HALF(adzi_from_bf16(x)))
#define FROM_ALL(TY, FROM_FLOAT, FROM_INT, FROM_HALF) \
    FROM_SOME(TY, FROM_FLOAT, FROM_INT, FROM_HALF)    \
    CONVERSION(from_f64, TY, double, FROM_FLOAT(x))   \
    CONVERSION(from_i32, TY, int32_t, FROM_INT(x))    \
    CONVERSION(from_i64, TY, int64_t, FROM_INT(x))

/* The kernels of a half from every source. */
#define FROM_ALL_TO_HALF(TO)                                             \
    FROM_SOME(uint16_t, TO, TO, TO)                                      \
    CONVERSION(from_f64, uint16_t, double, TO(adzi_half_source_f64(x)))  \
    CONVERSION(from_i32, uint16_t, int32_t, TO(adzi_half_source_f64(x))) \
    CONVERSION(from_i64, uint16_t, int64_t, TO(adzi_half_source_i64(x)))

#define AS_IS(v)   (v)
#define TRUTH(v)   ((v) != 0)
#define INTEGER(v) integer_of((double)(v))
#define TO_F16(v)  adzi_to_f16((float)(v))
#define TO_BF16(v) adzi_to_bf16((float)(v))

#define ELEM_NAME f32
FROM_ALL(float, AS_IS, AS_IS, AS_IS)
#undef ELEM_NAME
#define ELEM_NAME f64
FROM_ALL(double, AS_IS, AS_IS, AS_IS)
#undef ELEM_NAME
#define ELEM_NAME i32
FROM_ALL(int32_t, INTEGER, AS_IS, INTEGER)
#undef ELEM_NAME
#define ELEM_NAME i64
FROM_ALL(int64_t, INTEGER, AS_IS, INTEGER)
#undef ELEM_NAME
#define ELEM_NAME u8
FROM_ALL(uint8_t, INTEGER, AS_IS, INTEGER)
#undef ELEM_NAME
#define ELEM_NAME b8
FROM_ALL(uint8_t, TRUTH, TRUTH, TRUTH)
#undef ELEM_NAME
#define ELEM_NAME bf16
FROM_ALL_TO_HALF(TO_BF16)
#undef ELEM_NAME
#ifdef ROUND_EIGHT
#undef CONVERSION
#define CONVERSION CONVERSION_IN_EIGHTS
#undef TO_F16
#define TO_F16(v) ((float)(v))
#endif
#define ELEM_NAME f16
FROM_ALL_TO_HALF(TO_F16)
#undef ELEM_NAME
