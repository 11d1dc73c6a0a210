#include "autograd/ops/compare/compare.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(le);

const adzi_op adzi_op_le = { .name = "le" };

adz_tensor *adz_le(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_le, a, b, le_kernels);
}

adz_tensor *adz_le_number(adz_tensor *a, double number)
{
    return adz_le(a, adzi_number("le", a, number));
}
