#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_erf(a->in[0]), out);
}

FACT(extremes)
{
    adz_tensor *x = VALUES(ADZ_F32, -INFINITY, -10, 0, 10, INFINITY, NAN);
    ASSERT_VALUES(adz_erf(x), ADZ_F32, -1, -1, 0, 1, 1, NAN);
    ASSERT_VALUES(adz_erf(VALUES(ADZ_I32, 0, 30)), ADZ_F32, 0, 1);
}

FACT(far_out_there_is_no_slope)
{
    adz_tensor *x = LEAF(-1000, 1000, INFINITY);
    ASSERT_VALUES(gradient_of(adz_erf(x), x), ADZ_F64, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(extremes),
    cmocka_unit_test(far_out_there_is_no_slope),
};

const op_case erf_case = {
    .name = "erf",
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
    .vectors = { "erf" },
    .inputs = { "x" },
    FACTS(facts),
};
