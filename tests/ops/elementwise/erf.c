#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_erf;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, -INFINITY, -10, 0, 10, INFINITY, NAN);
    ASSERT_VALUES(adz_erf(x), ADZ_F32, -1, -1, 0, 1, 1, NAN);
    ASSERT_VALUES(adz_erf(VALUES(ADZ_I32, 0, 30)), ADZ_F32, 0, 1);
}

FACT(far_out_there_is_no_slope)
{
    adz_tensor *x = LEAF(-1000, 1000, INFINITY);
    ASSERT_VALUES(gradient_of(adz_erf(x), x), ADZ_F64, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(far_out_there_is_no_slope),
};

const op_case erf_case = { UNARY_CASE("erf", FILL_NORMAL) };
