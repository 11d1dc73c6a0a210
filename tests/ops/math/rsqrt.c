#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_rsqrt(a->in[0]), out);
}

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, 4, 0, -1, INFINITY, NAN);
    ASSERT_VALUES(adz_rsqrt(x), ADZ_F32, 0.5, INFINITY, NAN, 0, NAN);
    ASSERT_VALUES(adz_rsqrt(VALUES(ADZ_I32, 16)), ADZ_F32, 0.25);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
};

const op_case rsqrt_case = {
    .name = "rsqrt",
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
    .vectors = { "rsqrt" },
    .inputs = { "x" },
    FACTS(facts),
};
