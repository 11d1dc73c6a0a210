#include "autograd/ops/numbers.h"

#include <math.h>

#include "autograd/op.h"
#include "tensor/range.h"

bool adzi_number_fits(const char *op, const char *name, double number, adz_dtype dtype)
{
    bool whole = number == floor(number) && adzi_in_range(number, dtype);
    if (whole || !adzi_is_integer(dtype)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %s, which is no %s", name, adzi_text_number(number),
        adz_dtype_name(dtype));
    return false;
}

static adz_dtype dtype_beside(const adz_tensor *x, double number)
{
    if (adzi_is_float((adz_dtype)x->dtype)) {
        return (adz_dtype)x->dtype;
    }
    if (number != floor(number) || fabs(number) >= 0x1p63) {
        return ADZ_F32;
    }
    return x->dtype == ADZ_BOOL ? ADZ_I64 : (adz_dtype)x->dtype;
}

adz_tensor *adzi_number(const char *op, const adz_tensor *x, double number)
{
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    adz_tensor *t = adzi_scratch(op, dtype_beside(x, number), 0, NULL);
    if (t != NULL) {
        adzi_fill(t, number);
    }
    return t;
}
