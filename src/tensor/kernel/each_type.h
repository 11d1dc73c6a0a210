/* Instantiates the kernel file that includes it for f32, f64, i32, i64, u8 and bool. each_float.h
 * shows how such a file begins. ELEM_IS_FLOAT is 1 for f32 and f64. ELEM_IS_BOOL is 1 for bool,
 * whose elem is a uint8_t of 0 or 1 and whose ELEM_NAME is b8. */
#include "base/isa.h"

#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)
#define ELEM(x)      ((elem)(x))

#define elem          float
#define ELEM_NAME     f32
#define ELEM_IS_F32   1
#define ELEM_IS_FLOAT 1
#define ELEM_IS_BOOL  0
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_F32

/* On processors with AVX-512 the AVX2 kernels compute all other types (KERNEL_TABLE_ALL). */
#ifndef __AVX512F__
#define elem        double
#define ELEM_NAME   f64
#define ELEM_IS_F32 0
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_FLOAT

#define ELEM_IS_FLOAT 0
#define elem          int32_t
#define ELEM_NAME     i32
#include THIS_FILE
#undef elem
#undef ELEM_NAME

#define elem      int64_t
#define ELEM_NAME i64
#include THIS_FILE
#undef elem
#undef ELEM_NAME

#define elem      uint8_t
#define ELEM_NAME u8
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_BOOL

#define ELEM_IS_BOOL 1
#define elem         uint8_t
#define ELEM_NAME    b8
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_F32
#endif
#undef ELEM_IS_FLOAT
#undef ELEM_IS_BOOL
