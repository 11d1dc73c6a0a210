/* Copies within one element size, and fills. One instance per size, not per dtype. */
#include <string.h>

#include "tensor/pointwise.kernel.h"

#define K(name) KERNEL(name, TYPE)

#define TYPE b1
POINTWISE1(copy, uint8_t, uint8_t, x)
#undef TYPE
#define TYPE b2
POINTWISE1(copy, uint16_t, uint16_t, x)
#undef TYPE
#define TYPE b4
POINTWISE1(copy, uint32_t, uint32_t, x)
#undef TYPE
#define TYPE b8
POINTWISE1(copy, uint64_t, uint64_t, x)
#undef TYPE
