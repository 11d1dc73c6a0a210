#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_bitwise_right_shift;

/* PyTorch 2.15 computed the expected values. */
FACT(every_dtype)
{
    ASSERT_VALUES(adz_bitwise_right_shift(
                      VALUES(ADZ_I64, 1, -5, -7, 1, -5, -7), VALUES(ADZ_I64, 2, 1, 65, -2, 64, 63)),
        ADZ_I64, 0, -3, -1, 0, -1, -1);
    ASSERT_VALUES(adz_bitwise_right_shift(VALUES(ADZ_I32, 99, -99, 7), VALUES(ADZ_I32, 3, 40, 32)),
        ADZ_I32, 12, -1, 0);
    ASSERT_VALUES(
        adz_bitwise_right_shift(VALUES(ADZ_U8, 200, 200), VALUES(ADZ_U8, 8, 3)), ADZ_U8, 0, 25);
    ASSERT_REFUSED(adz_bitwise_right_shift(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE,
        "an integer dtype");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype),
};

const op_case bitwise_right_shift_case = { INTEGERS_CASE(
    "bitwise_right_shift", IN_INDEX(99, 37), IN_INDEX(31, 37)) };
