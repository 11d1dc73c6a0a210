#include "ops/facts.h"

/* p[0] = dim, p[1] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_mode(a->in[0], (int)a->p[0], a->p[1] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(the_smallest_of_the_most_frequent)
{
    adz_tensor *x = LEAF(5, 3, 7, 3, 5, 9), *at, *y = adz_mode(x, 0, ADZ_KEEPDIM, &at);
    ASSERT_VALUES(y, ADZ_F64, 3);
    ASSERT_VALUES(at, ADZ_I64, 1);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 1, 0, 0, 0, 0);
    x = adz_reshape(VALUES(ADZ_I64, 2, 2, 1, 4, 4, 4, 9, 0, 9), ADZ_SHAPE(3, 3));
    y = adz_mode(x, -1, ADZ_DROPDIM, &at);
    ASSERT_VALUES(y, ADZ_I64, 2, 4, 9);
    ASSERT_VALUES(at, ADZ_I64, 0, 0, 0);
    y = adz_mode(VALUES(ADZ_F32, NAN, NAN, 2, -0.0, 0), 0, ADZ_KEEPDIM, &at);
    ASSERT_VALUES(y, ADZ_F32, 0);
    ASSERT_VALUES(at, ADZ_I64, 3);
    y = adz_mode(adz_scalar(3, ADZ_F32), 0, ADZ_DROPDIM, &at);
    assert_true(adz_item(y) == 3 && adz_item(at) == 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_smallest_of_the_most_frequent),
};

const op_case mode_case = {
    .name = "mode",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 5) }, .p = { 0, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 4) }, .p = { -2 } },
        { .in = { IN_OF(FILL_DISTINCT, 1) }, .p = { 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 0, 3) }, .p = { 1 } },
        { .in = { IN_INDEX(3, 4, 30) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 0) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
