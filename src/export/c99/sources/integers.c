/* Conversions to integers, and integers that wrap as the library's do, for C files. */
#include <stdint.h>

/* x without its fraction; its low 32 bits if it is beyond an int32_t. */
static int32_t net_truncate(float x)
{
    return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int32_t)(int64_t)x : 0;
}

/* x without its fraction; its low 32 bits if it is beyond an int32_t. */
static int32_t net_wide_truncate(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int32_t)(int64_t)x : 0;
}

/* x^y by squaring, which wraps. For y < 0 it is 0 unless x is 1 or -1. */
static int32_t net_whole_pow(int32_t x, int32_t y)
{
    uint32_t power = 1, square = (uint32_t)x;
    if (y < 0 && x != 1 && x != -1) {
        return 0;
    }
    for (uint32_t n = y < 0 ? 0u - (uint32_t)y : (uint32_t)y; n > 0; n /= 2) {
        power = n % 2 != 0 ? power * square : power;
        square *= square;
    }
    return (int32_t)power;
}

/* The remainder with the sign of x; 0 for a divisor of 0, which the library refuses. */
static int32_t net_modulo(int32_t x, int32_t y)
{
    return y == 0 || y == -1 ? 0 : x % y;
}

/* The quotient, rounded down, which wraps; 0 for a divisor of 0. */
static int32_t net_whole_floor_divide(int32_t x, int32_t y)
{
    const int32_t rest = net_modulo(x, y);
    const int32_t q = y == 0 ? 0 : y == -1 ? (int32_t)(0u - (uint32_t)x) : x / y;
    return rest != 0 && (y < 0) != (rest < 0) ? q - 1 : q;
}

/* The greatest common divisor. */
static int32_t net_gcd(int32_t x, int32_t y)
{
    uint32_t a = x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
    uint32_t b = y < 0 ? 0u - (uint32_t)y : (uint32_t)y;
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return (int32_t)a;
}

static int32_t net_whole_remainder(int32_t x, int32_t y)
{
    const int32_t rest = net_modulo(x, y);
    return rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;
}
