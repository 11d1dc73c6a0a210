#include "autograd/ops/elementwise.h"

/* The smallest integer that is not below an element, torch.ceil.
 *
 *     y  = ceil x, and x itself for integers
 *     dx = 0
 *
 * x has any shape; y has x's shape and dtype. Nothing is saved. */

KERNEL_TABLE_ALL(ceil);

const adzi_op adzi_op_ceil = { .name = "ceil", .backward = adzi_backward_zeros };

adz_tensor *adz_ceil(adz_tensor *x)
{
    return adzi_unary_kept(&adzi_op_ceil, x, ceil_kernels, "x itself");
}
