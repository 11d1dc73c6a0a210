/* Instantiates the kernel file that includes it for f32, f64, i32, i64, u8 and
 * bool; see each_float.h. T_IS_FLOAT tells the two kinds apart; for bool T_IS_BOOL
 * is 1 and T is unsigned char holding 0 or 1. */
#include "base/isa.h"

#define K(name) KERNEL(name, TYPE)
#define R(x)    ((T)(x))

#define T          float
#define TYPE       f32
#define T_IS_F32   1
#define T_IS_FLOAT 1
#define T_IS_BOOL  0
#include THIS_FILE
#undef T
#undef TYPE
#undef T_IS_F32

#define T        double
#define TYPE     f64
#define T_IS_F32 0
#include THIS_FILE
#undef T
#undef TYPE
#undef T_IS_FLOAT

#define T_IS_FLOAT 0
#define T          int32_t
#define TYPE       i32
#include THIS_FILE
#undef T
#undef TYPE

#define T    int64_t
#define TYPE i64
#include THIS_FILE
#undef T
#undef TYPE

#define T    uint8_t
#define TYPE u8
#include THIS_FILE
#undef T
#undef TYPE
#undef T_IS_BOOL

#define T_IS_BOOL 1
#define T         uint8_t
#define TYPE      b8
#include THIS_FILE
#undef T
#undef TYPE
#undef T_IS_BOOL
#undef T_IS_F32
#undef T_IS_FLOAT
