#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_logsigmoid;

FACT(extremes_do_not_overflow)
{
    adz_tensor *x = VALUES(ADZ_F32, -1e30, -INFINITY, 200, INFINITY, NAN);
    ASSERT_VALUES(adz_logsigmoid(x), ADZ_F32, -1e30, -INFINITY, 0, 0, NAN);
    ASSERT_VALUES(adz_logsigmoid(VALUES(ADZ_I64, -200)), ADZ_F32, -200);
}

FACT(slopes_at_the_ends)
{
    adz_tensor *x = LEAF(-1000, 0, 1000);
    ASSERT_VALUES(gradient_of(adz_logsigmoid(x), x), ADZ_F64, 1, 0.5, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes_do_not_overflow),
    cmocka_unit_test(slopes_at_the_ends),
};

const op_case logsigmoid_case = { UNARY_CASE("logsigmoid", FILL_NORMAL) };
