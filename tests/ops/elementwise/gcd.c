#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_gcd;

FACT(special_values)
{
    ASSERT_VALUES(
        adz_gcd(VALUES(ADZ_I64, 0, 4, -6, 12, 0, 7), VALUES(ADZ_I64, 0, 6, 9, -18, -5, 0)), ADZ_I64,
        0, 2, 3, 6, 5, 7);
    ASSERT_VALUES(adz_gcd(VALUES(ADZ_U8, 200), VALUES(ADZ_I32, 75)), ADZ_I32, 25);
    ASSERT_REFUSED(
        adz_gcd(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE, "an integer dtype");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
};

const op_case gcd_case = { INTEGERS_CASE("gcd", IN_INDEX(99, 37), IN_INDEX(31, 37)) };
