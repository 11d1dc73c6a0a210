#include "ops/compare/compare.h"
#include "ops/numbers.h"

/* The operator le tells for each pair of elements whether a is less than or equal to b, like
 * torch.le.
 *
 *     y = a <= b
 *
 * a and b have any shapes that broadcast to y, which is bool and has no gradient. A comparison with
 * NaN is false. */

KERNEL_TABLE_ALL(le);

const adzi_op adzi_op_le = { .name = "le" };

adz_tensor *adz_le(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_le, a, b, le_kernels);
}

/* A whole number next to an integer a is compared as an integer, any other number as a float. */
adz_tensor *adz_le_number(adz_tensor *a, double number)
{
    return adz_le(a, adzi_number("le", a, number));
}
