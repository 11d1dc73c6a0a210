#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_fmod(a->in[0], a->in[1]), out);
}

FACT(special_values)
{
    adz_tensor *a = LEAF(5, -5, 5, -5, 1, 0), *b = LEAF(3, 3, -3, -3, (double)INFINITY, 5);
    adz_tensor *y = adz_fmod(a, b);
    ASSERT_VALUES(y, ADZ_F64, 2, -2, 2, -2, 1, 0);
    ASSERT_VALUES(adz_fmod(adz_to(adz_detach(a), ADZ_F32), adz_to(adz_detach(b), ADZ_F32)), ADZ_F32,
        2, -2, 2, -2, 1, 0);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 1, 1, 1, 1, 1, 1);
    ASSERT_VALUES(gradient_by_expression(y, a), ADZ_F64, 1, 1, 1, 1, 1, 1);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, -1, 1, 1, -1, 0, 0);
    ASSERT_VALUES(gradient_by_expression(y, b), ADZ_F64, -1, 1, 1, -1, 0, 0);
    ASSERT_VALUES(
        adz_fmod(VALUES(ADZ_F64, 1, (double)INFINITY, (double)NAN), VALUES(ADZ_F64, 0, 1, 1)),
        ADZ_F64, (double)NAN, (double)NAN, (double)NAN);
}

/* q is that of the value, and not the rounded a / b, as in PyTorch. */
FACT(gradients_by_the_quotient_of_the_value)
{
    const double inf = (double)INFINITY;
    adz_tensor *a = LEAF(1, -1, 1, -1, 1.7e308), *b = LEAF(0.1, 0.1, -inf, inf, -1e308);
    adz_tensor *y = adz_fmod(a, b);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, -9, 9, 0, 0, 1);
    ASSERT_VALUES(gradient_by_expression(y, b), ADZ_F64, -9, 9, 0, 0, 1);
}

FACT(integers)
{
    adz_tensor *a = VALUES(ADZ_I64, 5, -5, 5, -5, -0x1p63), *b = VALUES(ADZ_I64, 3, 3, -3, -3, -1);
    ASSERT_VALUES(adz_fmod(a, b), ADZ_I64, 2, -2, 2, -2, 0);
    ASSERT_VALUES(adz_fmod_number(VALUES(ADZ_U8, 200), 7), ADZ_U8, 4);
    ASSERT_VALUES(adz_fmod_number(VALUES(ADZ_I32, 5), 2.5), ADZ_F32, 0);
    ASSERT_REFUSED(
        adz_fmod(a, adz_zeros_like(b)), ADZ_ERR_ARGUMENT, "fmod: an integer is divided by 0");
    ASSERT_REFUSED(adz_fmod(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_ERR_DTYPE, "bool");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(gradients_by_the_quotient_of_the_value),
    cmocka_unit_test(integers),
};

const op_case fmod_case = {
    .name = "fmod",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_NORMAL, 3, 4), IN_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_NORMAL, 3, 4), IN_OF(FILL_AWAY, 4) } },
        { .in = { IN_OF(FILL_NORMAL, 2, 1, 3), IN_OF(FILL_AWAY, 4, 1) } },
        { .in = { IN_0_OF(FILL_NORMAL), IN_OF(FILL_AWAY, 2, 2) } },
        { .in = { IN_OF(FILL_NORMAL, 3, 0), IN_OF(FILL_AWAY, 1, 1) } },
        { .in = { IN_OF(FILL_NORMAL, 1), IN_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_NORMAL, 37), IN_CONST_OF(FILL_AWAY, 37) } },
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
