#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_heaviside(a->in[0], a->in[1]), out);
}

FACT(special_values)
{
    const double inf = (double)INFINITY;
    adz_tensor *x = VALUES(ADZ_F64, -inf, -1, 0, -0.0, 2, inf, (double)NAN);
    adz_tensor *values = adz_requires_grad_(adz_full_like(x, 0.5), true);
    adz_tensor *y = adz_heaviside(x, values);
    ASSERT_VALUES(y, ADZ_F64, 0, 0, 0.5, 0.5, 1, 1, 0);
    ASSERT_VALUES(gradient_of(y, values), ADZ_F64, 0, 0, 1, 1, 0, 0, 0);
}

FACT(dtypes)
{
    ASSERT_VALUES(
        adz_heaviside(VALUES(ADZ_I64, 0, 2, -3), VALUES(ADZ_I64, 5, 5, 5)), ADZ_I64, 5, 1, 0);
    ASSERT_VALUES(adz_heaviside(VALUES(ADZ_I64, 0, 2), VALUES(ADZ_F32, 0.5, 5)), ADZ_F32, 0.5, 1);
    ASSERT_VALUES(adz_heaviside(VALUES(ADZ_BOOL, 1, 0), VALUES(ADZ_BOOL, 0, 1)), ADZ_BOOL, 1, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(dtypes),
};

const op_case heaviside_case = {
    .name = "heaviside",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(2, 3, 4), IN(3, 4) } },
        { .in = { IN_INDEX(2, 3, 4), IN(4) } },
        { .in = { IN_INDEX(2, 2, 1, 3), IN(4, 1) } },
        { .in = { IN_INDEX(2, 3, 0), IN(1, 1) } },
        { .in = { IN_INDEX(2, 37), IN(37) } },
        { .in = { { .rank = 2, .sizes = { 3, 4 }, .given = true, .fill = FILL_INDEX, .range = 2, .layout = LAYOUT_TRANSPOSED }, IN_T(3, 4) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .inputs = { "x", "values" },
    .first_order_only = true,
    FACTS(facts),
};
