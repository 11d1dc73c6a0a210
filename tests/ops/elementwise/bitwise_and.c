#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_bitwise_and;

FACT(every_dtype)
{
    ASSERT_VALUES(adz_bitwise_and(VALUES(ADZ_I64, 3, -1, 255), VALUES(ADZ_I64, 5, 4, 240)), ADZ_I64,
        1, 4, 240);
    ASSERT_VALUES(adz_bitwise_and(VALUES(ADZ_BOOL, 0, 0, 1, 1), VALUES(ADZ_BOOL, 0, 1, 0, 1)),
        ADZ_BOOL, 0, 0, 0, 1);
    ASSERT_VALUES(adz_bitwise_and(VALUES(ADZ_I32, -1), VALUES(ADZ_U8, 255)), ADZ_I32, 255);
    ASSERT_VALUES(adz_bitwise_and(VALUES(ADZ_U8, 0xa8), VALUES(ADZ_U8, 0x5b)), ADZ_U8, 8);
    ASSERT_VALUES(adz_bitwise_and(VALUES(ADZ_I64, 3, 6), adz_scalar(2, ADZ_I64)), ADZ_I64, 2, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype),
};

const op_case bitwise_and_case = { INTEGERS_CASE("bitwise_and", IN_MASK(37), IN_MASK(37)) };
