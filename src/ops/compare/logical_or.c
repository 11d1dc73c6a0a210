#include "ops/compare/compare.h"

/* Logical or of truth values, torch.logical_or.
 *
 *     y = a != 0 or b != 0
 *
 * a and b have any dtypes, and shapes that broadcast to y, which is bool and has no gradient.
 * The kernel of add for bools is the one used: it computes a | b. */

KERNEL_TABLE_ALL(add);

const adzi_op adzi_op_logical_or = { .name = "logical_or" };

adz_tensor *adz_logical_or(adz_tensor *a, adz_tensor *b)
{
    return adzi_logical(&adzi_op_logical_or, a, b, KERNEL_FOR(add, ADZ_BOOL));
}
