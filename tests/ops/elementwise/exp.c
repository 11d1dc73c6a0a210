#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_exp;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, -INFINITY, 0, 200, -200, INFINITY, NAN);
    ASSERT_VALUES(adz_exp(x), ADZ_F32, 0, 1, INFINITY, 0, INFINITY, NAN);
}

FACT(integers_give_f32)
{
    ASSERT_VALUES(adz_exp(VALUES(ADZ_I64, 0, 0)), ADZ_F32, 1, 1);
    ASSERT_VALUES(adz_exp(VALUES(ADZ_BOOL, 0)), ADZ_F32, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(integers_give_f32),
};

const op_case exp_case = { UNARY_CASE("exp", FILL_NORMAL) };
