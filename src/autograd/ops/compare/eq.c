#include "autograd/ops/compare/compare.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(eq);

const adzi_op adzi_op_eq = { .name = "eq" };

adz_tensor *adz_eq(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_eq, a, b, eq_kernels);
}

adz_tensor *adz_eq_number(adz_tensor *a, double number)
{
    return adz_eq(a, adzi_number("eq", a, number));
}
