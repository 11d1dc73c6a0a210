#include "ops/compare/compare.h"

/* Logical exclusive or of truth values, torch.logical_xor.
 *
 *     y = (a != 0) != (b != 0)
 *
 * a and b have any dtypes, and shapes that broadcast to y, which is bool and has no gradient.
 * The kernel of ne for bools is the one used: exactly one is true if they differ. */

KERNEL_TABLE_ALL(ne);

const adzi_op adzi_op_logical_xor = { .name = "logical_xor" };

adz_tensor *adz_logical_xor(adz_tensor *a, adz_tensor *b)
{
    return adzi_logical(&adzi_op_logical_xor, a, b, KERNEL_FOR(ne, ADZ_BOOL));
}
