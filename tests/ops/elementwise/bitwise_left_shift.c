#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_bitwise_left_shift;

/* PyTorch 2.15 computed the expected values. */
FACT(every_dtype)
{
    ASSERT_VALUES(adz_bitwise_left_shift(
                      VALUES(ADZ_I64, 1, -5, 7, 1, -5, 7), VALUES(ADZ_I64, 2, 1, 65, -2, 64, 63)),
        ADZ_I64, 4, -10, 0, 0, 0, -0x1p63);
    ASSERT_VALUES(adz_bitwise_left_shift(VALUES(ADZ_I32, 1, -1, 1), VALUES(ADZ_I32, 31, 4, 32)),
        ADZ_I32, -0x1p31, -16, 0);
    ASSERT_VALUES(
        adz_bitwise_left_shift(VALUES(ADZ_U8, 200, 200), VALUES(ADZ_U8, 8, 1)), ADZ_U8, 0, 144);
    ASSERT_REFUSED(adz_bitwise_left_shift(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE,
        "an integer dtype");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype),
};

const op_case bitwise_left_shift_case = { INTEGERS_CASE(
    "bitwise_left_shift", IN_INDEX(99, 37), IN_INDEX(31, 37)) };
