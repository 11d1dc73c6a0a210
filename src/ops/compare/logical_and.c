#include "ops/compare/compare.h"

/* Logical and of truth values, torch.logical_and.
 *
 *     y = a != 0 and b != 0
 *
 * a and b have any dtypes, and shapes that broadcast to y, which is bool and has no gradient.
 * The kernel of mul for bools is the one used: the product of two bools is 1 if both are 1. */

KERNEL_TABLE_ALL(mul);

const adzi_op adzi_op_logical_and = { .name = "logical_and" };

adz_tensor *adz_logical_and(adz_tensor *a, adz_tensor *b)
{
    return adzi_logical(&adzi_op_logical_and, a, b, KERNEL_FOR(mul, ADZ_BOOL));
}
