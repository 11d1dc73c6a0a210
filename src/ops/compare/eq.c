#include "ops/compare/compare.h"
#include "ops/numbers.h"

/* The operator eq tells for each pair of elements whether a is equal to b, like torch.eq.
 *
 *     y = a == b
 *
 * a and b have any shapes that broadcast to y, which is bool and has no gradient. NaN equals
 * nothing, not even itself. */

KERNEL_TABLE_ALL(eq);

const adzi_op adzi_op_eq = { .name = "eq" };

adz_tensor *adz_eq(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_eq, a, b, eq_kernels);
}

/* A whole number next to an integer a is compared as an integer, any other number as a float. */
adz_tensor *adz_eq_number(adz_tensor *a, double number)
{
    return adz_eq(a, adzi_number("eq", a, number));
}
