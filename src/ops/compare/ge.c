#include "ops/compare/compare.h"
#include "ops/numbers.h"

/* The operator ge tells for each pair of elements whether a is greater than or equal to b, like
 * torch.ge.
 *
 *     y = a >= b
 *
 * a and b have any shapes that broadcast to y, which is bool and has no gradient. A comparison with
 * NaN is false. */

KERNEL_TABLE_ALL(ge);

const adzi_op adzi_op_ge = { .name = "ge" };

adz_tensor *adz_ge(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_ge, a, b, ge_kernels);
}

/* A whole number next to an integer a is compared as an integer, any other number as a float. */
adz_tensor *adz_ge_number(adz_tensor *a, double number)
{
    return adz_ge(a, adzi_number("ge", a, number));
}
