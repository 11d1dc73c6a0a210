#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_reciprocal(a->in[0]), out);
}

FACT(zeros_and_infinities)
{
    adz_tensor *x = VALUES(ADZ_F32, 0, -0.0, INFINITY, -4, NAN);
    ASSERT_VALUES(adz_reciprocal(x), ADZ_F32, INFINITY, -INFINITY, 0, -0.25, NAN);
    ASSERT_VALUES(adz_reciprocal(VALUES(ADZ_I64, 4, 0)), ADZ_F32, 0.25, INFINITY);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(zeros_and_infinities),
};

const op_case reciprocal_case = {
    .name = "reciprocal",
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
    .vectors = { "reciprocal" },
    .inputs = { "x" },
    FACTS(facts),
};
