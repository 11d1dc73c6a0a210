#include "ops/facts.h"

/* p[0] = 1: against the number p[1] */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        a->p[0] == 1 ? adz_le_number(a->in[0], a->p[1]) : adz_le(a->in[0], a->in[1]), out);
}

FACT(values)
{
    adz_tensor *a = VALUES(ADZ_F32, 1, 2, 3);
    ASSERT_VALUES(adz_le(a, VALUES(ADZ_F32, 2, 2, 2)), ADZ_BOOL, 1, 1, 0);
    ASSERT_VALUES(adz_le_number(a, 2), ADZ_BOOL, 1, 1, 0);
    ASSERT_VALUES(adz_le(VALUES(ADZ_F64, INFINITY), VALUES(ADZ_F64, INFINITY)), ADZ_BOOL, 1);
    ASSERT_VALUES(adz_le(VALUES(ADZ_F64, 0), VALUES(ADZ_F64, -0.0)), ADZ_BOOL, 1);
}

FACT(nan_compares_as_in_ieee)
{
    adz_tensor *a = VALUES(ADZ_F32, NAN, 1, NAN), *b = VALUES(ADZ_F32, 1, NAN, NAN);
    ASSERT_VALUES(adz_le(a, b), ADZ_BOOL, 0, 0, 0);
}

/* The common dtype decides: no integer is rounded to fit the other side. */
FACT(mixed_dtypes)
{
    adz_tensor *i = VALUES(ADZ_I32, 0, 1);
    ASSERT_VALUES(adz_le_number(i, 0.5), ADZ_BOOL, 1, 0);
    ASSERT_VALUES(adz_le(i, VALUES(ADZ_F64, 0.5, 0.5)), ADZ_BOOL, 1, 0);
    ASSERT_VALUES(adz_le(VALUES(ADZ_U8, 1), VALUES(ADZ_I64, 257)), ADZ_BOOL, 1);
    ASSERT_VALUES(adz_le(VALUES(ADZ_BOOL, 1), VALUES(ADZ_BOOL, 1)), ADZ_BOOL, 1);
}

FACT(no_gradient)
{
    adz_tensor *x = LEAF(1, 2);
    assert_false(adz_tensor_requires_grad(adz_le(x, x)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values),
    cmocka_unit_test(nan_compares_as_in_ieee),
    cmocka_unit_test(mixed_dtypes),
    cmocka_unit_test(no_gradient),
};

const op_case le_case = {
    .name = "le",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) } },
        { .in = { IN_T(3, 4), IN(4) } },
        { .in = { IN_MASK(2, 1, 3), IN_MASK(4, 1) } },
        { .in = { IN_INDEX(3, 5), IN_INDEX(3, 2, 5) } },
        { .in = { IN(3, 0), IN(1, 1) } },
        { .in = { IN(1), IN_0 } },
        { .in = { IN(37) }, .p = { 1, 0.25 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .not_differentiable = true,
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
