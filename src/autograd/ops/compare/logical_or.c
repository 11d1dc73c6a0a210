#include "autograd/ops/compare/compare.h"

KERNEL_TABLE_ALL(add); /* the sum of bools */

const adzi_op adzi_op_logical_or = { .name = "logical_or" };

adz_tensor *adz_logical_or(adz_tensor *a, adz_tensor *b)
{
    return adzi_logical(&adzi_op_logical_or, a, b, KERNEL_FOR(add, ADZ_BOOL));
}
