#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_hypot(a->in[0], a->in[1]), out);
}

FACT(special_values)
{
    adz_tensor *a = LEAF(0, 3, (double)INFINITY, (double)NAN, -(double)INFINITY, 1),
               *b = LEAF(0, -4, (double)NAN, (double)INFINITY, 1, (double)NAN);
    adz_tensor *y = adz_hypot(a, b);
    ASSERT_VALUES(
        y, ADZ_F64, 0, 5, (double)INFINITY, (double)INFINITY, (double)INFINITY, (double)NAN);
    ASSERT_VALUES(adz_hypot(adz_to(adz_detach(a), ADZ_F32), adz_to(adz_detach(b), ADZ_F32)),
        ADZ_F32, 0, 5, (double)INFINITY, (double)INFINITY, (double)INFINITY, (double)NAN);
}

FACT(no_square_overflows)
{
    ASSERT_VALUES(
        adz_hypot(VALUES(ADZ_F64, 0x3p1000, 0x3p-1070), VALUES(ADZ_F64, 0x4p1000, 0x4p-1070)),
        ADZ_F64, 0x5p1000, 0x5p-1070);
    ASSERT_VALUES(adz_hypot(VALUES(ADZ_F32, 0x3p120), VALUES(ADZ_F32, 0x4p120)), ADZ_F32, 0x5p120);
    ASSERT_VALUES(adz_hypot(VALUES(ADZ_I64, 3), VALUES(ADZ_I32, 4)), ADZ_F32, 5);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(no_square_overflows),
};

const op_case hypot_case = {
    .name = "hypot",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4), IN_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4), IN_OF(FILL_AWAY, 4) } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3), IN_OF(FILL_AWAY, 4, 1) } },
        { .in = { IN_0_OF(FILL_AWAY), IN_OF(FILL_AWAY, 2, 2) } },
        { .in = { IN_OF(FILL_AWAY, 3, 0), IN_OF(FILL_AWAY, 1, 1) } },
        { .in = { IN_OF(FILL_AWAY, 1), IN_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_AWAY, 37), IN_CONST_OF(FILL_AWAY, 37) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
