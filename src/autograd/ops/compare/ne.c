#include "autograd/ops/compare/compare.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(ne);

const adzi_op adzi_op_ne = { .name = "ne" };

adz_tensor *adz_ne(adz_tensor *a, adz_tensor *b)
{
    return adzi_compare(&adzi_op_ne, a, b, ne_kernels);
}

adz_tensor *adz_ne_number(adz_tensor *a, double number)
{
    return adz_ne(a, adzi_number("ne", a, number));
}
