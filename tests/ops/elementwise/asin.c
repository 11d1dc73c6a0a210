#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_asin;

FACT(special_values)
{
    ASSERT_VALUES(
        adz_asin(VALUES(ADZ_F32, 0, 2, -(double)INFINITY)), ADZ_F32, 0, (double)NAN, (double)NAN);
    ASSERT_VALUES(
        adz_asin(VALUES(ADZ_F64, 0, 2, -(double)INFINITY)), ADZ_F64, 0, (double)NAN, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_asin(VALUES(ADZ_I64, 0)), ADZ_F32, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
};

const op_case asin_case = { UNARY_CASE("asin", FILL_UNIT) };
