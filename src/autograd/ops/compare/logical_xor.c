#include "autograd/ops/compare/compare.h"

KERNEL_TABLE_ALL(ne); /* the difference of bools */

const adzi_op adzi_op_logical_xor = { .name = "logical_xor" };

adz_tensor *adz_logical_xor(adz_tensor *a, adz_tensor *b)
{
    return adzi_logical(&adzi_op_logical_xor, a, b, KERNEL_FOR(ne, ADZ_BOOL));
}
