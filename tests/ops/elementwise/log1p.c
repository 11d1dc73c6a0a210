#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_log1p;

FACT(small_arguments_stay_exact)
{
    adz_tensor *x = VALUES(ADZ_F32, 1e-20, -1e-20, -1, -2, INFINITY, NAN);
    ASSERT_VALUES(adz_log1p(x), ADZ_F32, 1e-20, -1e-20, -INFINITY, NAN, INFINITY, NAN);
    ASSERT_VALUES(adz_log1p(VALUES(ADZ_I64, 0, -1)), ADZ_F32, 0, -INFINITY);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_arguments_stay_exact),
};

const op_case log1p_case = { UNARY_CASE("log1p", FILL_POSITIVE) };
