#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_erfc;

FACT(special_values)
{
    ASSERT_VALUES(adz_erfc(VALUES(ADZ_F32, 0, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F32, 1, 0, 2, (double)NAN);
    ASSERT_VALUES(adz_erfc(VALUES(ADZ_F64, 0, (double)INFINITY, -(double)INFINITY, (double)NAN)),
        ADZ_F64, 1, 0, 2, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_erfc(VALUES(ADZ_I64, 0)), ADZ_F32, 1);
}

FACT(small_results_are_accurate)
{
    const double y = adz_item(adz_erfc(adz_scalar(10, ADZ_F64)));
    assert_true(fabs(y / 2.0884875837625448e-45 - 1) <= 1e-14);
    assert_true(
        fabs(adz_item(adz_erfc(adz_scalar(10, ADZ_F32))) / 2.0884875837625448e-45 - 1) <= 0.4);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
    cmocka_unit_test(small_results_are_accurate),
};

const op_case erfc_case = { UNARY_CASE("erfc", FILL_NORMAL) };
