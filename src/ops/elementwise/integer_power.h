/* Powers of integers, for the kernels of pow and pow_number. */
#ifndef ADZI_OPS_ELEMENTWISE_INTEGER_POWER_H
#define ADZI_OPS_ELEMENTWISE_INTEGER_POWER_H

#include <stdint.h>

/**
 * base^exponent by repeated squaring, at most 63 steps. Computed in unsigned integers, where
 * overflow wraps, as it does in products.
 *
 * A negative exponent follows PyTorch: 1 for base 1, 1 or -1 for base -1, and 0 for every other
 * base, 0 included.
 */
static inline uint64_t adzi_integer_power(int64_t base, int64_t exponent)
{
    if (exponent < 0) {
        return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 == 0 ? 1 : (uint64_t)-1;
    }
    uint64_t power = 1, square = (uint64_t)base;
    for (uint64_t e = (uint64_t)exponent; e > 0; e >>= 1, square *= square) {
        power *= e & 1 ? square : 1;
    }
    return power;
}

#endif
