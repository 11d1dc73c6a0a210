#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_sqrt(a->in[0]), out);
}

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, 4, 0, -1, INFINITY, NAN);
    ASSERT_VALUES(adz_sqrt(x), ADZ_F32, 2, 0, NAN, INFINITY, NAN);
    ASSERT_VALUES(adz_sqrt(VALUES(ADZ_U8, 9, 0)), ADZ_F32, 3, 0);
}

FACT(the_slope_at_zero_is_infinite)
{
    adz_tensor *x = LEAF(0, 4);
    ASSERT_VALUES(gradient_of(adz_sqrt(x), x), ADZ_F64, INFINITY, 0.25);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(the_slope_at_zero_is_infinite),
};

const op_case sqrt_case = {
    .name = "sqrt",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 3, 4) } },
        { .in = { IN_T_OF(FILL_POSITIVE, 3, 4) } },
        { .in = { IN_OF(FILL_POSITIVE, 1) } },
        { .in = { IN_OF(FILL_POSITIVE, 2, 1, 3) } },
        { .in = { IN_OF(FILL_POSITIVE, 0, 3) } },
        { .in = { IN_0_OF(FILL_POSITIVE) } },
        { .in = { IN_OF(FILL_POSITIVE, 37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
    },
    .vectors = { "sqrt" },
    .inputs = { "x" },
    FACTS(facts),
};
