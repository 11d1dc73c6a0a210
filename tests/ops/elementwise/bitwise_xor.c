#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_bitwise_xor;

FACT(every_dtype)
{
    ASSERT_VALUES(adz_bitwise_xor(VALUES(ADZ_I64, 3, -1, 255), VALUES(ADZ_I64, 5, 4, 240)), ADZ_I64,
        6, -5, 15);
    ASSERT_VALUES(adz_bitwise_xor(VALUES(ADZ_BOOL, 0, 0, 1, 1), VALUES(ADZ_BOOL, 0, 1, 0, 1)),
        ADZ_BOOL, 0, 1, 1, 0);
    ASSERT_VALUES(adz_bitwise_xor(VALUES(ADZ_I32, -1), VALUES(ADZ_U8, 255)), ADZ_I32, -256);
    ASSERT_VALUES(adz_bitwise_xor(VALUES(ADZ_U8, 0xa8), VALUES(ADZ_U8, 0x5b)), ADZ_U8, 243);
    ASSERT_VALUES(adz_bitwise_xor(VALUES(ADZ_I64, 3, 6), adz_scalar(2, ADZ_I64)), ADZ_I64, 1, 4);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype),
};

const op_case bitwise_xor_case = { INTEGERS_CASE("bitwise_xor", IN_MASK(37), IN_MASK(37)) };
