#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_expm1(a->in[0]), out);
}

FACT(small_arguments_stay_exact)
{
    adz_tensor *x = VALUES(ADZ_F32, 1e-20, -1e-20, -200, 200, INFINITY, NAN);
    ASSERT_VALUES(adz_expm1(x), ADZ_F32, 1e-20, -1e-20, -1, INFINITY, INFINITY, NAN);
    ASSERT_VALUES(adz_expm1(VALUES(ADZ_BOOL, 0)), ADZ_F32, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_arguments_stay_exact),
};

const op_case expm1_case = {
    .name = "expm1",
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
    .vectors = { "expm1" },
    .inputs = { "x" },
    FACTS(facts),
};
