#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_square;

FACT(integers_wrap)
{
    ASSERT_VALUES(adz_square(VALUES(ADZ_I32, -3, 65536)), ADZ_I32, 9, 0);
    ASSERT_VALUES(adz_square(VALUES(ADZ_U8, 15, 16)), ADZ_U8, 225, 0);
    ASSERT_VALUES(adz_square(VALUES(ADZ_BOOL, 1, 0)), ADZ_I64, 1, 0);
    ASSERT_VALUES(adz_square(VALUES(ADZ_F32, -INFINITY, NAN)), ADZ_F32, INFINITY, NAN);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_wrap),
};

const op_case square_case = { UNARY_CASE("square", FILL_NORMAL) };
