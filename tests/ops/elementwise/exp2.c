#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_exp2;

FACT(special_values)
{
    ASSERT_VALUES(
        adz_exp2(VALUES(ADZ_F32, 3, -2, (double)INFINITY, -(double)INFINITY, (double)NAN)), ADZ_F32,
        8, 0.25, (double)INFINITY, 0, (double)NAN);
    ASSERT_VALUES(
        adz_exp2(VALUES(ADZ_F64, 3, -2, (double)INFINITY, -(double)INFINITY, (double)NAN)), ADZ_F64,
        8, 0.25, (double)INFINITY, 0, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_exp2(VALUES(ADZ_I64, 5)), ADZ_F32, 32);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
};

const op_case exp2_case = { UNARY_CASE("exp2", FILL_NORMAL) };
