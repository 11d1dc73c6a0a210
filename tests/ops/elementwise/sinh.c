#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_sinh;

FACT(special_values)
{
    ASSERT_VALUES(adz_sinh(VALUES(ADZ_F32, 0, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F32, 0, (double)INFINITY, -(double)INFINITY, (double)NAN);
    ASSERT_VALUES(adz_sinh(VALUES(ADZ_F64, 0, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F64, 0, (double)INFINITY, -(double)INFINITY, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_sinh(VALUES(ADZ_I64, 0)), ADZ_F32, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
};

const op_case sinh_case = { UNARY_CASE("sinh", FILL_NORMAL) };
