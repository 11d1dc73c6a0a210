#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_log;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, 0, -1, 1, INFINITY, NAN);
    ASSERT_VALUES(adz_log(x), ADZ_F32, -INFINITY, NAN, 0, INFINITY, NAN);
    ASSERT_VALUES(adz_log(VALUES(ADZ_U8, 1, 0)), ADZ_F32, 0, -INFINITY);
}

FACT(the_slope_at_zero_is_infinite)
{
    adz_tensor *x = LEAF(0, 4);
    ASSERT_VALUES(gradient_of(adz_log(x), x), ADZ_F64, INFINITY, 0.25);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(the_slope_at_zero_is_infinite),
};

const op_case log_case = { UNARY_CASE("log", FILL_POSITIVE) };
