#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_sqrt;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, 4, 0, -1, INFINITY, NAN);
    ASSERT_VALUES(adz_sqrt(x), ADZ_F32, 2, 0, NAN, INFINITY, NAN);
    ASSERT_VALUES(adz_sqrt(VALUES(ADZ_U8, 9, 0)), ADZ_F32, 3, 0);
}

FACT(the_slope_at_zero_is_infinite)
{
    adz_tensor *x = LEAF(0, 4);
    ASSERT_VALUES(gradient_of(adz_sqrt(x), x), ADZ_F64, INFINITY, 0.25);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(the_slope_at_zero_is_infinite),
};

const op_case sqrt_case = { UNARY_CASE("sqrt", FILL_POSITIVE) };
