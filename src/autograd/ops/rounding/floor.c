#include "autograd/ops/elementwise.h"

/* The largest integer that is not above an element, torch.floor.
 *
 *     y  = floor x, and x itself for integers
 *     dx = 0
 *
 * x has any shape; y has x's shape and dtype. Nothing is saved. */

KERNEL_TABLE_ALL(floor);

const adzi_op adzi_op_floor = { .name = "floor", .backward = adzi_backward_zeros };

adz_tensor *adz_floor(adz_tensor *x)
{
    return adzi_unary_kept(&adzi_op_floor, x, floor_kernels, "x itself");
}
