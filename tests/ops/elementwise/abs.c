#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_abs(a->in[0]), out);
}

FACT(integers_wrap)
{
    ASSERT_VALUES(adz_abs(VALUES(ADZ_I32, -3, INT32_MIN, 3)), ADZ_I32, 3, INT32_MIN, 3);
    ASSERT_VALUES(adz_abs(VALUES(ADZ_U8, 255, 0)), ADZ_U8, 255, 0);
    ASSERT_VALUES(adz_abs(VALUES(ADZ_F32, -INFINITY, NAN)), ADZ_F32, INFINITY, NAN);
    assert_false(signbit(adz_item(adz_abs(VALUES(ADZ_F32, -0.0)))));
}

FACT(no_slope_at_zero)
{
    adz_tensor *x = LEAF(-2, 0, -0.0, 3);
    ASSERT_VALUES(gradient_of(adz_abs(x), x), ADZ_F64, -1, 0, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_wrap),
    cmocka_unit_test(no_slope_at_zero),
};

const op_case abs_case = {
    .name = "abs",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) } },
        { .in = { IN_0_OF(FILL_AWAY) } },
        { .in = { IN_OF(FILL_AWAY, 37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_BOOL, 3) }, .status = ADZ_ERR_DTYPE, .says = "bool" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .first_order_only = true,
    .vectors = { "abs" },
    .inputs = { "x" },
    FACTS(facts),
};
