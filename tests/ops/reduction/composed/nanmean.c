#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_nanmean(a->in[0], case_dims(a, 0), a->p[9] != 0), out);
}

FACT(nan_is_left_out)
{
    const double nan = (double)NAN;
    adz_tensor *x = LEAF(1, nan, 5), *y = adz_nanmean(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(adz_item(y) == 3);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0.5, 0, 0.5);
    assert_true(isnan(adz_item(adz_nanmean(VALUES(ADZ_F32, NAN), ADZ_ALL_DIMS, ADZ_DROPDIM))));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nan_is_left_out),
};

const op_case nanmean_case = {
    .name = "nanmean",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { -1 } },
        { .in = { IN_T(3, 4) }, .p = { 1, 0 } },
        { .in = { IN(2, 3, 4) }, .p = { 2, 0, 2 } },
        { .in = { IN(1) }, .p = { 1, 0 } },
        { .in = { IN(0, 3) }, .p = { 1, 0 } },
        { .in = { IN_0 }, .p = { -1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { -1 }, .status = ADZ_ERR_DTYPE, .says = "use adz_mean" },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
