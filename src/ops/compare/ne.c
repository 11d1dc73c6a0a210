#include "ops/compare/compare.h"
#include "ops/numbers.h"

/* The operator ne tells for each pair of elements whether a is different from b, like torch.ne.
 *
 *     y = a != b
 *
 * a and b have any shapes that broadcast to y, which is bool and has no gradient. NaN differs from
 * everything, itself included. */

KERNEL_TABLE_ALL(ne);

const adzi_op adzi_op_ne = { .name = "ne" };

adz_tensor *adz_ne(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_ne, a, b, ne_kernels);
}

/* A whole number next to an integer a is compared as an integer, any other number as a float. */
adz_tensor *adz_ne_number(adz_tensor *a, double number)
{
    return adz_ne(a, adzi_number("ne", a, number));
}
