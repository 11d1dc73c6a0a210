#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_expm1;

FACT(small_arguments_stay_exact)
{
    adz_tensor *x = VALUES(ADZ_F32, 1e-20, -1e-20, -200, 200, INFINITY, NAN);
    ASSERT_VALUES(adz_expm1(x), ADZ_F32, 1e-20, -1e-20, -1, INFINITY, INFINITY, NAN);
    ASSERT_VALUES(adz_expm1(VALUES(ADZ_BOOL, 0)), ADZ_F32, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_arguments_stay_exact),
};

const op_case expm1_case = { UNARY_CASE("expm1", FILL_NORMAL) };
