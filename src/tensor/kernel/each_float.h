/* Instantiates the kernel file that includes it for f32 and f64.
 *
 * A kernel file starts with
 *
 *     #ifndef elem
 *     #define THIS_FILE "ops/activation/relu.kernel.c"
 *     #include "tensor/kernel/each_float.h"
 *     #else
 *     ... bodies over the element type elem, named with KERNEL(relu) ...
 *     #endif
 *
 * What is before #include is compiled once; what is after #else once per type. Inside, elem is the
 * element type and ELEM_NAME its short name, such as f32. KERNEL(name) is the symbol of this type
 * and instruction set. ELEM(x) is the constant x in elem. ELEM_IS_F32 is 0 or 1, ELEM_IS_FLOAT
 * is 1.
 *
 * For AVX-512, f64 is compiled only if the file has defined F64_AT_ALL_LEVELS (base/isa.h).
 */
#include "base/isa.h"

#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)
#define ELEM(x)      ((elem)(x))

#define elem          float
#define ELEM_NAME     f32
#define ELEM_IS_F32   1
#define ELEM_IS_FLOAT 1
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_F32

#if !defined(__AVX512F__) || defined(F64_AT_ALL_LEVELS)
#define elem        double
#define ELEM_NAME   f64
#define ELEM_IS_F32 0
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_F32
#endif
#undef ELEM_IS_FLOAT
