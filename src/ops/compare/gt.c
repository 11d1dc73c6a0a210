#include "ops/compare/compare.h"
#include "ops/numbers.h"

/* The operator gt tells for each pair of elements whether a is greater than b, like torch.gt.
 *
 *     y = a > b
 *
 * a and b have any shapes that broadcast to y, which is bool and has no gradient. A comparison with
 * NaN is false. */

KERNEL_TABLE_ALL(gt);

const adzi_op adzi_op_gt = { .name = "gt" };

adz_tensor *adz_gt(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_gt, a, b, gt_kernels);
}

/* A whole number next to an integer a is compared as an integer, any other number as a float. */
adz_tensor *adz_gt_number(adz_tensor *a, double number)
{
    return adz_gt(a, adzi_number("gt", a, number));
}
