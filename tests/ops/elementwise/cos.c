#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_cos;

FACT(special_values)
{
    ASSERT_VALUES(adz_cos(VALUES(ADZ_F32, 0, INFINITY, NAN)), ADZ_F32, 1, NAN, NAN);
    ASSERT_VALUES(adz_cos(VALUES(ADZ_I64, 0, 0)), ADZ_F32, 1, 1);
}

FACT(large_arguments_are_reduced)
{
    adz_tensor *y = adz_cos(VALUES(ADZ_F64, 1e22));
    assert_float_equal(adz_item(y), 0.52321478539513894549, 1e-15);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(large_arguments_are_reduced),
};

const op_case cos_case = { UNARY_CASE("cos", FILL_NORMAL) };
