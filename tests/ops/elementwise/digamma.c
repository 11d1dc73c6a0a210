#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_digamma;

FACT(special_values)
{
    ASSERT_VALUES(
        adz_digamma(VALUES(ADZ_F32, 0, -2, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F32, -(double)INFINITY, (double)NAN, (double)INFINITY, (double)NAN, (double)NAN);
    ASSERT_VALUES(
        adz_digamma(VALUES(ADZ_F64, 0, -2, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F64, -(double)INFINITY, (double)NAN, (double)INFINITY, (double)NAN, (double)NAN);
}

FACT(integers_become_floats)
{
    assert_int_equal(adz_tensor_dtype(adz_digamma(VALUES(ADZ_I64, 1))), ADZ_F32);
}

FACT(negative_arguments)
{
    const double y = adz_item(adz_digamma(adz_scalar(-2.5, ADZ_F64)));
    assert_true(fabs(y - 1.1031566406452431872) <= 4e-15);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
    cmocka_unit_test(negative_arguments),
};

const op_case digamma_case = { UNARY_CASE("digamma", FILL_POSITIVE) };
