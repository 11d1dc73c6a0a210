#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_reciprocal;

FACT(zeros_and_infinities)
{
    adz_tensor *x = VALUES(ADZ_F32, 0, -0.0, INFINITY, -4, NAN);
    ASSERT_VALUES(adz_reciprocal(x), ADZ_F32, INFINITY, -INFINITY, 0, -0.25, NAN);
    ASSERT_VALUES(adz_reciprocal(VALUES(ADZ_I64, 4, 0)), ADZ_F32, 0.25, INFINITY);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(zeros_and_infinities),
};

const op_case reciprocal_case = { UNARY_CASE("reciprocal", FILL_POSITIVE) };
