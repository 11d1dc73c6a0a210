#include "autograd/ops/compare/compare.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(lt);

const adzi_op adzi_op_lt = { .name = "lt" };

adz_tensor *adz_lt(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_lt, a, b, lt_kernels);
}

adz_tensor *adz_lt_number(adz_tensor *a, double number)
{
    return adz_lt(a, adzi_number("lt", a, number));
}
