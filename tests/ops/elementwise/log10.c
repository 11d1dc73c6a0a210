#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_log10;

FACT(special_values)
{
    ASSERT_VALUES(adz_log10(VALUES(ADZ_F32, 1000, 1e10, 0, -1, (double)INFINITY, (double)NAN)),
        ADZ_F32, 3, 10, -(double)INFINITY, (double)NAN, (double)INFINITY, (double)NAN);
    ASSERT_VALUES(adz_log10(VALUES(ADZ_F64, 1000, 1e10, 0, -1, (double)INFINITY, (double)NAN)),
        ADZ_F64, 3, 10, -(double)INFINITY, (double)NAN, (double)INFINITY, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_log10(VALUES(ADZ_I64, 100)), ADZ_F32, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
};

const op_case log10_case = { UNARY_CASE("log10", FILL_POSITIVE) };
