#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_signbit;

FACT(special_values)
{
    const double inf = (double)INFINITY;
    ASSERT_VALUES(
        adz_signbit(VALUES(ADZ_F32, -NAN, inf, -inf, 0, -0.0, -3e38)), ADZ_BOOL, 0, 0, 1, 0, 1, 1);
    ASSERT_VALUES(
        adz_signbit(VALUES(ADZ_F64, NAN, inf, -inf, 0, -0.0, -1e308)), ADZ_BOOL, 0, 0, 1, 0, 1, 1);
    ASSERT_VALUES(adz_signbit(VALUES(ADZ_I32, INT32_MIN, 3)), ADZ_BOOL, 1, 0);
    ASSERT_VALUES(adz_signbit(VALUES(ADZ_I64, -1, 0)), ADZ_BOOL, 1, 0);
    ASSERT_VALUES(adz_signbit(VALUES(ADZ_U8, 255, 0)), ADZ_BOOL, 0, 0);
    ASSERT_VALUES(adz_signbit(VALUES(ADZ_BOOL, 1, 0)), ADZ_BOOL, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
};

const op_case signbit_case = { UNARY_CASE("signbit", FILL_NORMAL), .not_differentiable = true };
