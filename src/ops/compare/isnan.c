#include "ops/compare/compare.h"

/* The operator isnan tells for each element whether it is NaN, like torch.isnan.
 *
 *     y = (x != x)
 *
 * x has any shape; y is bool and has no gradient. Integers are never NaN. */

KERNEL_TABLE_ALL(isnan);

const adzi_op adzi_op_isnan = { .name = "isnan" };

adz_tensor *adz_isnan(adz_tensor *x)
{
    return adzi_test(&adzi_op_isnan, x, isnan_kernels);
}
