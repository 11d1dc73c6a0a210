#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_log2;

FACT(special_values)
{
    ASSERT_VALUES(adz_log2(VALUES(ADZ_F32, 8, 0.125, 0, -1, (double)INFINITY, (double)NAN)),
        ADZ_F32, 3, -3, -(double)INFINITY, (double)NAN, (double)INFINITY, (double)NAN);
    ASSERT_VALUES(adz_log2(VALUES(ADZ_F64, 8, 0.125, 0, -1, (double)INFINITY, (double)NAN)),
        ADZ_F64, 3, -3, -(double)INFINITY, (double)NAN, (double)INFINITY, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_log2(VALUES(ADZ_I64, 64)), ADZ_F32, 6);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
};

const op_case log2_case = { UNARY_CASE("log2", FILL_POSITIVE) };
