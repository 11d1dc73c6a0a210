#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_rsqrt;

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, 4, 0, -1, INFINITY, NAN);
    ASSERT_VALUES(adz_rsqrt(x), ADZ_F32, 0.5, INFINITY, NAN, 0, NAN);
    ASSERT_VALUES(adz_rsqrt(VALUES(ADZ_I32, 16)), ADZ_F32, 0.25);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
};

const op_case rsqrt_case = { UNARY_CASE("rsqrt", FILL_POSITIVE) };
