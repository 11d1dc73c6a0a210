#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_tanh;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, -INFINITY, -90, 0, 90, INFINITY, NAN);
    ASSERT_VALUES(adz_tanh(x), ADZ_F32, -1, -1, 0, 1, 1, NAN);
    ASSERT_VALUES(adz_tanh(VALUES(ADZ_I32, 0, 100)), ADZ_F32, 0, 1);
}

FACT(saturation_has_no_slope)
{
    adz_tensor *x = LEAF(-1000, 0, 1000);
    ASSERT_VALUES(gradient_of(adz_tanh(x), x), ADZ_F64, 0, 1, 0);
}

FACT(a_changed_result_is_noticed)
{
    adz_tensor *x = LEAF(1, 2), *y = adz_tanh(x), *sum = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_non_null(adz_add_number_(y, 1));
    assert_int_equal(adz_backward(sum), ADZ_ERR_VERSION);
    assert_non_null(strstr(adz_error_message(), "tanh"));
    adz_error_clear();
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(saturation_has_no_slope),
    cmocka_unit_test(a_changed_result_is_noticed),
};

const op_case tanh_case = { UNARY_CASE("tanh", FILL_NORMAL) };
