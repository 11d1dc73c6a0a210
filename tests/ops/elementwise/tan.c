#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_tan;

FACT(special_values)
{
    ASSERT_VALUES(adz_tan(VALUES(ADZ_F32, 0, (double)INFINITY, (double)NAN)), ADZ_F32, 0,
        (double)NAN, (double)NAN);
    ASSERT_VALUES(adz_tan(VALUES(ADZ_F64, 0, (double)INFINITY, (double)NAN)), ADZ_F64, 0,
        (double)NAN, (double)NAN);
}

FACT(integers_become_floats)
{
    ASSERT_VALUES(adz_tan(VALUES(ADZ_I64, 0)), ADZ_F32, 0);
}

FACT(far_arguments_are_reduced)
{
    /* The values were computed with 200 bits. */
    adz_tensor *y = adz_tan(VALUES(ADZ_F64, 1e22, -1e22, 1e300, 0x1p20, 3e6));
    const double expected[] = { -1.6287782256068988, 1.6287782256068988, 1.4214488238747245,
        0.35016974012660901, -1.8387661236969282 };
    for (int64_t i = 0; i < 5; ++i) {
        const double got = adz_tensor_at(y, &i);
        assert_true(fabs(got - expected[i]) <= 8e-16 * fabs(expected[i]));
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_become_floats),
    cmocka_unit_test(far_arguments_are_reduced),
};

const op_case tan_case = { UNARY_CASE("tan", FILL_UNIT) };
