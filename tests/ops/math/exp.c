#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_exp(a->in[0]), out);
}

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, -INFINITY, 0, 200, -200, INFINITY, NAN);
    ASSERT_VALUES(adz_exp(x), ADZ_F32, 0, 1, INFINITY, 0, INFINITY, NAN);
}

FACT(integers_give_f32)
{
    ASSERT_VALUES(adz_exp(VALUES(ADZ_I64, 0, 0)), ADZ_F32, 1, 1);
    ASSERT_VALUES(adz_exp(VALUES(ADZ_BOOL, 0)), ADZ_F32, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(integers_give_f32),
};

const op_case exp_case = {
    .name = "exp",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(1) } },
        { .in = { IN(2, 1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN_0 } },
        { .in = { IN(37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
    },
    .vectors = { "exp" },
    .inputs = { "x" },
    FACTS(facts),
};
