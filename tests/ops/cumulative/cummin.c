#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_cummin(a->in[0], (int)a->p[0], &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(the_last_of_equal_elements_counts)
{
    adz_tensor *x = LEAF(3, 3, 4, 1, 4), *at, *y = adz_cummin(x, 0, &at);
    ASSERT_VALUES(y, ADZ_F64, 3, 3, 3, 1, 1);
    ASSERT_VALUES(at, ADZ_I64, 0, 1, 1, 3, 3);
    adz_tensor *g = gradient_of(y, x);
    ASSERT_VALUES(g, ADZ_F64, 1, 2, 0, 2, 0);
    y = adz_cummin(VALUES(ADZ_F32, 1, NAN, 5, NAN), -1, &at);
    ASSERT_VALUES(y, ADZ_F32, 1, NAN, NAN, NAN);
    ASSERT_VALUES(at, ADZ_I64, 0, 1, 1, 3);
    y = adz_cummin(VALUES(ADZ_BOOL, 0, 1, 0), 0, NULL);
    ASSERT_VALUES(y, ADZ_BOOL, 0, 0, 0);
    y = adz_cummin(adz_scalar(3, ADZ_I64), 0, &at);
    assert_true(adz_item_i64(y) == 3 && adz_item_i64(at) == 0);
}

FACT(many_columns_are_independent)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 600), ADZ_F32), *at, *one;
    adz_tensor *y = adz_cummin(x, 0, &at),
               *z = adz_cummin(adz_clone(adz_transpose(x, 0, 1)), 1, &one);
    assert_true(
        adz_item(adz_all(adz_eq(adz_transpose(y, 0, 1), z), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1);
    assert_true(
        adz_item(adz_all(adz_eq(adz_transpose(at, 0, 1), one), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_last_of_equal_elements_counts),
    cmocka_unit_test(many_columns_are_independent),
};

const op_case cummin_case = {
    .name = "cummin",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 3, 5) }, .p = { 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 4, 3) }, .p = { 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 6, 2) }, .p = { -2 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 0, 3) }, .p = { 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 1) }, .p = { 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 0) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "cummin: x is float16" },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
