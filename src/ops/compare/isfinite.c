#include "ops/compare/compare.h"

/* The operator isfinite tells for each element whether it is neither infinite nor NaN, like
 * torch.isfinite.
 *
 *     y = |x| < infinity
 *
 * x has any shape; y is bool and has no gradient. Every integer is finite. */

KERNEL_TABLE_ALL(isfinite);

const adzi_op adzi_op_isfinite = { .name = "isfinite" };

adz_tensor *adz_isfinite(adz_tensor *x)
{
    return adzi_test(&adzi_op_isfinite, x, isfinite_kernels);
}
