#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_logsigmoid(a->in[0]), out);
}

FACT(extremes_do_not_overflow)
{
    adz_tensor *x = VALUES(ADZ_F32, -1e30, -INFINITY, 200, INFINITY, NAN);
    ASSERT_VALUES(adz_logsigmoid(x), ADZ_F32, -1e30, -INFINITY, 0, 0, NAN);
    ASSERT_VALUES(adz_logsigmoid(VALUES(ADZ_I64, -200)), ADZ_F32, -200);
}

FACT(slopes_at_the_ends)
{
    adz_tensor *x = LEAF(-1000, 0, 1000);
    ASSERT_VALUES(gradient_of(adz_logsigmoid(x), x), ADZ_F64, 1, 0.5, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes_do_not_overflow),
    cmocka_unit_test(slopes_at_the_ends),
};

const op_case logsigmoid_case = {
    .name = "logsigmoid",
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
    .vectors = { "logsigmoid" },
    .inputs = { "x" },
    FACTS(facts),
};
