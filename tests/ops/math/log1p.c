#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_log1p(a->in[0]), out);
}

FACT(small_arguments_stay_exact)
{
    adz_tensor *x = VALUES(ADZ_F32, 1e-20, -1e-20, -1, -2, INFINITY, NAN);
    ASSERT_VALUES(adz_log1p(x), ADZ_F32, 1e-20, -1e-20, -INFINITY, NAN, INFINITY, NAN);
    ASSERT_VALUES(adz_log1p(VALUES(ADZ_I64, 0, -1)), ADZ_F32, 0, -INFINITY);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_arguments_stay_exact),
};

const op_case log1p_case = {
    .name = "log1p",
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
    .vectors = { "log1p" },
    .inputs = { "x" },
    FACTS(facts),
};
