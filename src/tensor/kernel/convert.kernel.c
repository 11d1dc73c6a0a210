/* Conversions between dtypes, one kernel per pair: from_<source> of the target dtype.
 *
 * A unit is one element. Values are converted as in C: floats are truncated to integers, and
 * integers wrap. A float out of the range of i64, or NaN, gives INT64_MIN, of which narrower
 * integers keep the low bits. To bool, everything except 0 is true, NaN included. f16 and bf16 are
 * rounded to nearest by way of f32. bool as a source is u8. */
#include "tensor/kernel/half.h"
#include "tensor/kernel/pointwise.kernel.h"

/* x as an i64. C leaves the conversion undefined where x does not fit, so these are caught. */
static inline int64_t integer_of(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)

/* FROM_ALL makes the kernels of the target type TY from every source. FROM_FLOAT, FROM_INT and
 * FROM_HALF are the expressions for sources that are floats, integers, and halves as floats. */
#define FROM_ALL(TY, FROM_FLOAT, FROM_INT, FROM_HALF)               \
    POINTWISE1(from_f32, TY, float, FROM_FLOAT(x))                  \
    POINTWISE1(from_f64, TY, double, FROM_FLOAT(x))                 \
    POINTWISE1(from_i32, TY, int32_t, FROM_INT(x))                  \
    POINTWISE1(from_i64, TY, int64_t, FROM_INT(x))                  \
    POINTWISE1(from_u8, TY, uint8_t, FROM_INT(x))                   \
    POINTWISE1(from_f16, TY, uint16_t, FROM_HALF(adzi_from_f16(x))) \
    POINTWISE1(from_bf16, TY, uint16_t, FROM_HALF(adzi_from_bf16(x)))

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
#define ELEM_NAME f16
FROM_ALL(uint16_t, TO_F16, TO_F16, TO_F16)
#undef ELEM_NAME
#define ELEM_NAME bf16
FROM_ALL(uint16_t, TO_BF16, TO_BF16, TO_BF16)
#undef ELEM_NAME
