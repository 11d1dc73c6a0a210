#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_sigmoid;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, -INFINITY, -200, 0, 200, INFINITY, NAN);
    ASSERT_VALUES(adz_sigmoid(x), ADZ_F32, 0, 0, 0.5, 1, 1, NAN);
    ASSERT_VALUES(adz_sigmoid(VALUES(ADZ_BOOL, 0)), ADZ_F32, 0.5);
}

FACT(saturation_has_no_slope)
{
    adz_tensor *x = LEAF(-1000, 0, 1000);
    ASSERT_VALUES(gradient_of(adz_sigmoid(x), x), ADZ_F64, 0, 0.25, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(saturation_has_no_slope),
};

const op_case sigmoid_case = { UNARY_CASE("sigmoid", FILL_NORMAL) };
