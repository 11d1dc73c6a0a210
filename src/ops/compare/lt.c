#include "ops/compare/compare.h"
#include "ops/numbers.h"

/* The operator lt tells for each pair of elements whether a is less than b, like torch.lt.
 *
 *     y = a < b
 *
 * a and b have any shapes that broadcast to y, which is bool and has no gradient. A comparison with
 * NaN is false. */

KERNEL_TABLE_ALL(lt);

const adzi_op adzi_op_lt = { .name = "lt" };

adz_tensor *adz_lt(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_lt, a, b, lt_kernels);
}

/* A whole number next to an integer a is compared as an integer, any other number as a float. */
adz_tensor *adz_lt_number(adz_tensor *a, double number)
{
    return adz_lt(a, adzi_number("lt", a, number));
}
