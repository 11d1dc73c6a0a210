#include "autograd/ops/numbers.h"

#include <math.h>

#include "autograd/op.h"

static adz_dtype dtype_beside(const adz_tensor *x, double number)
{
    if (adzi_is_float((adz_dtype)x->dtype)) {
        return (adz_dtype)x->dtype;
    }
    if (number != floor(number) || isinf(number)) {
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
