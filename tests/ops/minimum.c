#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_minimum(a->in[0], a->in[1]), out);
}

FACT(nan_and_infinity)
{
    adz_tensor *a = VALUES(ADZ_F32, NAN, 1, NAN, INFINITY), *b = VALUES(ADZ_F32, 1, NAN, NAN, 3);
    ASSERT_VALUES(adz_minimum(a, b), ADZ_F32, NAN, NAN, NAN, 3);
}

FACT(ties_share_the_gradient)
{
    adz_tensor *a = LEAF(1, 2, 3), *b = LEAF(2, 2, 2);
    ASSERT_VALUES(gradient_of(adz_minimum(a, b), a), ADZ_F64, 1, 0.5, 0);
    ASSERT_VALUES(gradient_of(adz_minimum(a, b), b), ADZ_F64, 0, 0.5, 1);
    ASSERT_VALUES(gradient_of(adz_minimum(a, a), a), ADZ_F64, 1, 1, 1);
}

FACT(integers)
{
    ASSERT_VALUES(adz_minimum(VALUES(ADZ_I32, -5, 2), VALUES(ADZ_I64, -6, 7)), ADZ_I64, -6, 2);
    ASSERT_VALUES(adz_minimum(VALUES(ADZ_U8, 200, 2), VALUES(ADZ_U8, 7, 7)), ADZ_U8, 7, 2);
    ASSERT_VALUES(adz_minimum(VALUES(ADZ_BOOL, 0, 1), VALUES(ADZ_BOOL, 1, 1)), ADZ_BOOL, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nan_and_infinity),
    cmocka_unit_test(ties_share_the_gradient),
    cmocka_unit_test(integers),
};

const op_case minimum_case = {
    .name = "minimum",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) } },
        { .in = { IN_T(3, 4), IN(4) } },
        { .in = { IN(2, 1, 3), IN(4, 1) } },
        { .in = { IN_0, IN(2, 2) } },
        { .in = { IN(3, 0), IN(1, 1) } },
        { .in = { IN(1), IN(1) } },
        { .in = { IN(37), IN_CONST(37) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .first_order_only = true,
    .vectors = { "minimum" },
    .inputs = { "a", "b" },
    FACTS(facts),
};
