#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_lgamma;

FACT(special_values)
{
    ASSERT_VALUES(
        adz_lgamma(VALUES(ADZ_F32, 1, 2, 0, -3, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F32, 0, 0, (double)INFINITY, (double)INFINITY, (double)INFINITY, (double)INFINITY,
        (double)NAN);
    ASSERT_VALUES(
        adz_lgamma(VALUES(ADZ_F64, 1, 2, 0, -3, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F64, 0, 0, (double)INFINITY, (double)INFINITY, (double)INFINITY, (double)INFINITY,
        (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_lgamma(VALUES(ADZ_I64, 1)), ADZ_F32, 0);
}

FACT(negative_arguments)
{
    const double y = adz_item(adz_lgamma(adz_scalar(-2.5, ADZ_F64)));
    assert_true(fabs(y + 0.056243716497674050) <= 1e-15);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
    cmocka_unit_test(negative_arguments),
};

const op_case lgamma_case = { UNARY_CASE("lgamma", FILL_POSITIVE) };
