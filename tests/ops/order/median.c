#include "ops/facts.h"

/* p[0] = dim, p[1] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_median(a->in[0], (int)a->p[0], a->p[1] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

/* Of two middle elements the lower one counts, and a NaN makes its slice NaN. */
FACT(the_lower_middle)
{
    adz_tensor *x = LEAF(5, 1, 4, 2), *at, *y = adz_median(x, 0, ADZ_DROPDIM, &at);
    assert_true(adz_item(y) == 2 && adz_item(at) == 3);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 0, 1);
    y = adz_median(VALUES(ADZ_F32, 5, 1, 4), -1, ADZ_KEEPDIM, &at);
    ASSERT_VALUES(y, ADZ_F32, 4);
    ASSERT_VALUES(at, ADZ_I64, 2);
    y = adz_median(VALUES(ADZ_F32, 5, NAN, 4), 0, ADZ_DROPDIM, &at);
    assert_true(isnan(adz_item(y)) && adz_item(at) == 1);
    y = adz_median(VALUES(ADZ_I64, 7, 9), 0, ADZ_DROPDIM, NULL);
    assert_true(adz_item(y) == 7 && adz_tensor_dtype(y) == ADZ_I64);
    y = adz_median(VALUES(ADZ_F32, INFINITY, -INFINITY, 1), 0, ADZ_DROPDIM, NULL);
    assert_true(adz_item(y) == 1);
    y = adz_median(adz_scalar(3, ADZ_F32), 0, ADZ_DROPDIM, &at);
    assert_true(adz_item(y) == 3 && adz_item(at) == 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_lower_middle) };

const op_case median_case = {
    .name = "median",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 5) }, .p = { 0, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 4) }, .p = { -2 } },
        { .in = { IN_OF(FILL_DISTINCT, 1) }, .p = { 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 0, 3) }, .p = { 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 2) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 0) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "has no middle" },
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
