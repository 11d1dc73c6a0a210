#include "ops/facts.h"

/* The sweep draws numbers above 0, and acosh takes those above 1. */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_acosh(adz_add_number(a->in[0], 1.5)), out);
}

FACT(special_values)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    ASSERT_VALUES(adz_acosh(VALUES(ADZ_F64, 1, 0.5, -3, inf, nan)), ADZ_F64, 0, nan, nan, inf, nan);
    ASSERT_VALUES(adz_acosh(VALUES(ADZ_F32, 1, 0.5, inf)), ADZ_F32, 0, nan, inf);
    ASSERT_VALUES(adz_acosh(VALUES(ADZ_I64, 1, 0)), ADZ_F32, 0, nan);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(special_values) };

const op_case acosh_case = {
    .name = "acosh",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 3, 4) } },
        { .in = { IN_T_OF(FILL_POSITIVE, 3, 4) } },
        { .in = { IN_OF(FILL_POSITIVE, 1) } },
        { .in = { IN_OF(FILL_POSITIVE, 0, 3) } },
        { .in = { IN_0_OF(FILL_POSITIVE) } },
        { .in = { IN_OF(FILL_POSITIVE, 37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
    },
    .inputs = { "x" },
    FACTS(facts),
};
