#include "autograd/ops/compare/compare.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(ge);

const adzi_op adzi_op_ge = { .name = "ge" };

adz_tensor *adz_ge(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_ge, a, b, ge_kernels);
}

adz_tensor *adz_ge_number(adz_tensor *a, double number)
{
    return adz_ge(a, adzi_number("ge", a, number));
}
