#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_square(a->in[0]), out);
}

FACT(integers_wrap)
{
    ASSERT_VALUES(adz_square(VALUES(ADZ_I32, -3, 65536)), ADZ_I32, 9, 0);
    ASSERT_VALUES(adz_square(VALUES(ADZ_U8, 15, 16)), ADZ_U8, 225, 0);
    ASSERT_VALUES(adz_square(VALUES(ADZ_BOOL, 1, 0)), ADZ_I64, 1, 0);
    ASSERT_VALUES(adz_square(VALUES(ADZ_F32, -INFINITY, NAN)), ADZ_F32, INFINITY, NAN);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_wrap),
};

const op_case square_case = {
    .name = "square",
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
    .vectors = { "square" },
    .inputs = { "x" },
    FACTS(facts),
};
