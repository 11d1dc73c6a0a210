#include "autograd/ops/elementwise.h"

/* The nearest integer, and the even one of two, torch.round.
 *
 *     y  = round x, and x itself for integers
 *     dx = 0
 *
 * x has any shape; y has x's shape and dtype. Nothing is saved. */

KERNEL_TABLE_ALL(round);

const adzi_op adzi_op_round = { .name = "round", .backward = adzi_backward_zeros };

adz_tensor *adz_round(adz_tensor *x)
{
    return adzi_unary_kept(&adzi_op_round, x, round_kernels, "x itself");
}
