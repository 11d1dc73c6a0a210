#include "autograd/ops/compare/compare.h"

KERNEL_TABLE_ALL(mul); /* the product of bools */

const adzi_op adzi_op_logical_and = { .name = "logical_and" };

adz_tensor *adz_logical_and(adz_tensor *a, adz_tensor *b)
{
    return adzi_logical(&adzi_op_logical_and, a, b, KERNEL_FOR(mul, ADZ_BOOL));
}
