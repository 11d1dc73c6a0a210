#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_sign;

FACT(every_dtype)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    ASSERT_VALUES(adz_sign(VALUES(ADZ_F64, -inf, -2, 0, 1e-300, nan)), ADZ_F64, -1, -1, 0, 1, 0);
    ASSERT_VALUES(adz_sign(VALUES(ADZ_F32, -inf, -2, 0, 1e-30, nan)), ADZ_F32, -1, -1, 0, 1, 0);
    ASSERT_VALUES(adz_sign(VALUES(ADZ_I32, -7, 0, 7)), ADZ_I32, -1, 0, 1);
    ASSERT_VALUES(adz_sign(VALUES(ADZ_U8, 200, 0)), ADZ_U8, 1, 0);
    ASSERT_VALUES(adz_sign(VALUES(ADZ_BOOL, 1, 0)), ADZ_BOOL, 1, 0);
}

FACT(the_gradient_is_zero)
{
    adz_tensor *x = LEAF(-1.5, 0, 2);
    ASSERT_VALUES(gradient_of(adz_sign(x), x), ADZ_F64, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype),
    cmocka_unit_test(the_gradient_is_zero),
};

/* The case is marked as not differentiable, because every derivative is zero. */
const op_case sign_case = { UNARY_CASE("sign", FILL_NORMAL), .not_differentiable = true };
