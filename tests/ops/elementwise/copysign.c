#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_copysign(a->in[0], a->in[1]), out);
}

FACT(special_values)
{
    adz_tensor *a = LEAF(0, 2, -2, (double)INFINITY, (double)NAN), *b = LEAF(-0.0, -0.0, 0, -1, 1);
    adz_tensor *y = adz_copysign(a, b);
    ASSERT_VALUES(y, ADZ_F64, -0.0, -2, 2, -(double)INFINITY, (double)NAN);
    ASSERT_VALUES(adz_copysign(adz_to(adz_detach(a), ADZ_F32), adz_to(adz_detach(b), ADZ_F32)),
        ADZ_F32, -0.0, -2, 2, -(double)INFINITY, (double)NAN);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0, -1, -1, -1, 0);
    ASSERT_VALUES(gradient_by_expression(y, a), ADZ_F64, 0, -1, -1, -1, 0);
}

FACT(integers)
{
    ASSERT_VALUES(adz_copysign(VALUES(ADZ_I64, 3), VALUES(ADZ_I64, -4)), ADZ_F32, -3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers),
};

const op_case copysign_case = {
    .name = "copysign",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4), IN_CONST_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4), IN_CONST_OF(FILL_AWAY, 4) } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3), IN_CONST_OF(FILL_AWAY, 4, 1) } },
        { .in = { IN_0_OF(FILL_AWAY), IN_CONST_OF(FILL_AWAY, 2, 2) } },
        { .in = { IN_OF(FILL_AWAY, 3, 0), IN_CONST_OF(FILL_AWAY, 1, 1) } },
        { .in = { IN_OF(FILL_AWAY, 1), IN_CONST_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_AWAY, 37), IN_CONST_OF(FILL_AWAY, 37) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .inputs = { "a", "b" },
    .first_order_only = true,
    FACTS(facts),
};
