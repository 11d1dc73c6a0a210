#include "autograd/ops/elementwise.h"

/* The sign, torch.sign.
 *
 *     y  = 1 where x > 0, -1 where x < 0, else 0
 *     dx = 0
 *
 * x has any shape; y has x's shape and dtype. Nothing is saved. */

KERNEL_TABLE_ALL(sign);

const adzi_op adzi_op_sign = { .name = "sign", .backward = adzi_backward_zeros };

adz_tensor *adz_sign(adz_tensor *x)
{
    return adzi_unary_kept(&adzi_op_sign, x, sign_kernels, NULL);
}
