#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_lcm;

FACT(special_values)
{
    ASSERT_VALUES(adz_lcm(VALUES(ADZ_I64, 0, 4, -6, 12, 0), VALUES(ADZ_I64, 0, 6, 9, -18, -5)),
        ADZ_I64, 0, 12, 18, 36, 0);
    ASSERT_VALUES(adz_lcm(VALUES(ADZ_U8, 4), VALUES(ADZ_I32, 6)), ADZ_I32, 12);
    ASSERT_REFUSED(
        adz_lcm(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE, "an integer dtype");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
};

const op_case lcm_case = { INTEGERS_CASE("lcm", IN_INDEX(99, 37), IN_INDEX(31, 37)) };
