#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_ceil;

FACT(special_values)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    ASSERT_VALUES(
        adz_ceil(VALUES(ADZ_F64, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25, -0.75, inf, -inf, nan)),
        ADZ_F64, -2, -1, 0, 1, 2, 3, 1, 0, inf, -inf, nan);
    ASSERT_VALUES(
        adz_ceil(VALUES(ADZ_F32, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25, -0.75, inf, -inf, nan)),
        ADZ_F32, -2, -1, 0, 1, 2, 3, 1, 0, inf, -inf, nan);
    ASSERT_VALUES(adz_ceil(VALUES(ADZ_F64, 0x1p52 + 1, -0x1p51 - 0.5, 1e300)), ADZ_F64, 0x1p52 + 1,
        -0x1p51, 1e300);
    adz_tensor *y = adz_ceil(VALUES(ADZ_F64, -0.0, -0x1p-60));
    assert_true(
        signbit(adz_tensor_at(y, &(int64_t){ 0 })) && signbit(adz_tensor_at(y, &(int64_t){ 1 })));
}

FACT(integers_stay)
{
    ASSERT_VALUES(adz_ceil(VALUES(ADZ_I64, -3, 0x1p62)), ADZ_I64, -3, 0x1p62);
    ASSERT_VALUES(adz_ceil(VALUES(ADZ_U8, 255)), ADZ_U8, 255);
    ASSERT_REFUSED(adz_ceil(VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE, "which has no ceil");
}

FACT(the_gradient_is_zero)
{
    adz_tensor *x = LEAF(-1.5, 0, 2);
    ASSERT_VALUES(gradient_of(adz_ceil(x), x), ADZ_F64, 0, 0, 0);
    ASSERT_VALUES(gradient_by_expression(adz_ceil(x), x), ADZ_F64, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_stay),
    cmocka_unit_test(the_gradient_is_zero),
};

/* The case is marked as not differentiable, because every derivative is zero. */
const op_case ceil_case = { UNARY_CASE("ceil", FILL_NORMAL), .not_differentiable = true };
