#include "autograd/ops/compare/compare.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(gt);

const adzi_op adzi_op_gt = { .name = "gt" };

adz_tensor *adz_gt(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_gt, a, b, gt_kernels);
}

adz_tensor *adz_gt_number(adz_tensor *a, double number)
{
    return adz_gt(a, adzi_number("gt", a, number));
}
