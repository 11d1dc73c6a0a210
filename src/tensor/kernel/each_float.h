/* Instantiates the kernel file that includes it for f32 and f64.
 *
 * A kernel file starts with
 *
 *     #ifndef T
 *     #define THIS_FILE "autograd/ops/activation/relu.kernel.c"
 *     #include "tensor/kernel/each_float.h"
 *     #else
 *     ... bodies over the element type T, named with K(relu) ...
 *     #endif
 *
 * Inside: T the element type, TYPE its short name (f32), K(name) the symbol of
 * this type and instruction set, R(x) the constant x in T, T_IS_F32 0 or 1.
 */
#include "base/isa.h"

#define K(name) KERNEL(name, TYPE)
#define R(x)    ((T)(x))

#define T          float
#define TYPE       f32
#define T_IS_F32   1
#define T_IS_FLOAT 1
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
#undef T_IS_F32
#undef T_IS_FLOAT
