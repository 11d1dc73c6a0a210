#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_logical_not(a->in[0]), out);
}

FACT(every_dtype)
{
    ASSERT_VALUES(adz_logical_not(VALUES(ADZ_BOOL, 0, 1)), ADZ_BOOL, 1, 0);
    ASSERT_VALUES(adz_logical_not(VALUES(ADZ_F64, 0, -0.0, 1e-300, NAN)), ADZ_BOOL, 1, 1, 0, 0);
    ASSERT_VALUES(adz_logical_not(VALUES(ADZ_I64, 0, 256)), ADZ_BOOL, 1, 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(every_dtype) };

const op_case logical_not_case = {
    .name = "logical_not",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN_MASK(1) } },
        { .in = { IN_INDEX(2, 2, 1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN_0 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
    },
    .not_differentiable = true,
    FACTS(facts),
};
