#include "ops/compare/compare.h"

/* The operator logical_not tells for each element whether it is false, that is 0, like
 * torch.logical_not.
 *
 *     y = (x == 0)
 *
 * x has any shape and dtype but f16 and bf16; y is bool and has no gradient. NaN is true, so y is
 * false there. */

KERNEL_TABLE_ALL(logical_not);

const adzi_op adzi_op_logical_not = { .name = "logical_not" };

adz_tensor *adz_logical_not(adz_tensor *x)
{
    return adzi_test(&adzi_op_logical_not, x, logical_not_kernels);
}
