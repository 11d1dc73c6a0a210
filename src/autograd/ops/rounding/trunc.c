#include "autograd/ops/elementwise.h"

/* The integer part, torch.trunc.
 *
 *     y  = x without its fraction, and x itself for integers
 *     dx = 0
 *
 * x has any shape; y has x's shape and dtype. Nothing is saved. */

KERNEL_TABLE_ALL(trunc);

const adzi_op adzi_op_trunc = { .name = "trunc", .backward = adzi_backward_zeros };

adz_tensor *adz_trunc(adz_tensor *x)
{
    return adzi_unary_kept(&adzi_op_trunc, x, trunc_kernels, "x itself");
}
