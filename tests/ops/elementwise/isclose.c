#include "ops/facts.h"

/* p[0] = rtol, p[1] = atol in units of the inputs, p[2] = equal_nan */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_isclose(a->in[0], a->in[1], a->p[0], a->p[1] * case_units[0], a->p[2] != 0), out);
}

FACT(special_values)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    adz_tensor *a = VALUES(ADZ_F64, inf, inf, nan, 1, 100, 101, 0, inf);
    adz_tensor *b = VALUES(ADZ_F64, inf, -inf, nan, nan, 101, 100, 0.5, 1);
    ASSERT_VALUES(adz_isclose(a, b, 0, 0, false), ADZ_BOOL, 1, 0, 0, 0, 0, 0, 0, 0);
    ASSERT_VALUES(adz_isclose(a, b, 0.00995, 0, false), ADZ_BOOL, 1, 0, 0, 0, 1, 0, 0, 0);
    ASSERT_VALUES(adz_isclose(a, b, 0, 1, true), ADZ_BOOL, 1, 0, 1, 0, 1, 1, 1, 0);
    ASSERT_VALUES(adz_isclose(a, b, 1, inf, false), ADZ_BOOL, 1, 0, 0, 0, 1, 1, 1, 0);
}

FACT(dtypes)
{
    adz_tensor *a = VALUES(ADZ_I64, 0x1p40, 5), *b = VALUES(ADZ_I64, 0x1p40 + 1, 5);
    ASSERT_VALUES(adz_isclose(a, b, 1e-15, 0, false), ADZ_BOOL, 0, 1);
    ASSERT_VALUES(adz_isclose(a, b, 0, 1, false), ADZ_BOOL, 1, 1);
    ASSERT_VALUES(adz_isclose(VALUES(ADZ_U8, 3), VALUES(ADZ_U8, 5), 0, 2, false), ADZ_BOOL, 1);
    ASSERT_VALUES(
        adz_isclose(VALUES(ADZ_BOOL, 1), VALUES(ADZ_F32, 1.5), 0, 0.5, false), ADZ_BOOL, 1);
    assert_false(adz_tensor_requires_grad(adz_isclose(LEAF(1), LEAF(1), 1, 1, false)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(dtypes),
};

const op_case isclose_case = {
    .name = "isclose",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 0.25, 0.5 } },
        { .in = { IN_T(3, 4), IN(4) }, .p = { 0.5, 0.1, 1 } },
        { .in = { IN_INDEX(9, 2, 1, 3), IN_INDEX(9, 4, 1) }, .p = { 0.2, 1 } },
        { .in = { IN(3, 0), IN(1, 1) }, .p = { 0, 0.5 } },
        { .in = { IN_0, IN_0 }, .p = { 0.5, 0.1 } },
        { .in = { IN(37), IN(37) }, .p = { 0.5, 0.5 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3) }, .p = { -1 }, .status = ADZ_ERR_ARGUMENT, .says = "rtol is -1" },
        { .in = { IN(3), IN(3) }, .p = { 0, NAN }, .status = ADZ_ERR_ARGUMENT, .says = "atol is" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .not_differentiable = true,
    .broadcasts = true,
    FACTS(facts),
};
