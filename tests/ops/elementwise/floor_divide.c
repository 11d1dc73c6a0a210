#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_floor_divide;

/* PyTorch 2.15 computed the expected values. */
FACT(special_values)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double a[] = { 1, -1, 1, 0, 5, -5, inf, 1, -1, 7, -7, 7, -7, -1e308 };
    const double b[] = { 0.1, 0.1, 0, 3, inf, inf, 1, -inf, -0.0, 2, 2, -2, -2, 1e308 };
    const double y[] = { 9, -10, inf, 0, 0, -1, nan, -1, inf, 3, -4, -4, 3, -1 };
    adz_tensor *got = adz_floor_divide(
        adz_tensor_from(a, ADZ_SHAPE(14), ADZ_F64), adz_tensor_from(b, ADZ_SHAPE(14), ADZ_F64));
    for (int64_t i = 0; i < 14; ++i) {
        const double g = adz_tensor_at(got, &i);
        assert_true(g == y[i] || (isnan(g) && isnan(y[i])));
    }
    ASSERT_VALUES(adz_floor_divide(VALUES(ADZ_F32, 1, -7, 5e37), VALUES(ADZ_F32, 0.1, 2, -3e38)),
        ADZ_F32, 9, -4, -1);
    adz_tensor *zero = adz_floor_divide(VALUES(ADZ_F64, -0.0), VALUES(ADZ_F64, 3));
    assert_true(signbit(adz_tensor_at(zero, &(int64_t){ 0 })));
}

FACT(integers)
{
    adz_tensor *a = VALUES(ADZ_I64, 7, -7, 7, -7, 6, -0x1p63),
               *b = VALUES(ADZ_I64, 2, 2, -2, -2, -3, -1);
    ASSERT_VALUES(adz_floor_divide(a, b), ADZ_I64, 3, -4, -4, 3, -2, -0x1p63);
    ASSERT_VALUES(adz_floor_divide_number(VALUES(ADZ_U8, 200), 7), ADZ_U8, 28);
    ASSERT_VALUES(adz_floor_divide_number(VALUES(ADZ_I32, -5), 2.5), ADZ_F32, -2);
    ASSERT_REFUSED(adz_floor_divide(a, adz_zeros_like(b)), ADZ_ERR_ARGUMENT,
        "floor_divide: an integer is divided by 0");
    ASSERT_REFUSED(
        adz_floor_divide(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE, "bool");
}

FACT(both_gradients_are_0)
{
    adz_tensor *a = LEAF(5, -1), *b = LEAF(2, 0);
    adz_tensor *y = adz_floor_divide(a, b);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0, 0);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, 0, 0);
    ASSERT_VALUES(gradient_by_expression(y, b), ADZ_F64, 0, 0);
    adz_tensor *one = adz_requires_grad_(adz_scalar(3, ADZ_F64), true);
    assert_true(adz_item(gradient_of(adz_floor_divide(a, one), one)) == 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers),
    cmocka_unit_test(both_gradients_are_0),
};

const op_case floor_divide_case = { BINARY_CASE("floor_divide", FILL_NORMAL, FILL_AWAY),
    .not_differentiable = true };
