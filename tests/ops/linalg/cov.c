#include "ops/facts.h"

/* p[0] = correction; input 1: fweights, input 2: aweights with any sign */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *f = a->n > 1 && a->in[1] != ADZ_NONE ? adz_add_number(a->in[1], 1) : ADZ_NONE;
    adz_tensor *w = a->n > 2 && a->in[2] != ADZ_NONE ? adz_abs(a->in[2]) : ADZ_NONE;
    return case_one(adz_cov(a->in[0], f, w, (int64_t)a->p[0]), out);
}

FACT(weights_and_corrections)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 0, 1, 2, 2, 1, 0), ADZ_SHAPE(2, 3));
    adz_tensor *y = adz_cov(x, ADZ_NONE, ADZ_NONE, 1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 1, -1, -1, 1);
    y = adz_cov(VALUES(ADZ_F64, 0, 2), VALUES(ADZ_I64, 1, 3), ADZ_NONE, 0);
    assert_true(adz_tensor_rank(y) == 0 && adz_item(y) == 0.75);
    y = adz_cov(VALUES(ADZ_F64, 0, 2), ADZ_NONE, VALUES(ADZ_F64, 0.5, 1.5), 1);
    assert_true(fabs(adz_item(y) - 1.5 / 0.75) < 1e-15);
    assert_true(isnan(adz_item(adz_cov(VALUES(ADZ_F64, 4), ADZ_NONE, ADZ_NONE, 1))));
}

FACT(weights_below_zero_are_refused)
{
    adz_tensor *x = VALUES(ADZ_F64, 0, 2);
    ASSERT_REFUSED(adz_cov(x, VALUES(ADZ_I64, 1, -3), ADZ_NONE, 0), ADZ_ERR_ARGUMENT, "below 0");
    ASSERT_REFUSED(adz_cov(x, ADZ_NONE, VALUES(ADZ_F64, -1, 3), 0), ADZ_ERR_ARGUMENT, "below 0");
    ASSERT_REFUSED(adz_cov(x, VALUES(ADZ_F64, 1, 3), ADZ_NONE, 0), ADZ_ERR_DTYPE, "fweights");
    ASSERT_REFUSED(adz_cov(x, VALUES(ADZ_I64, 1), ADZ_NONE, 0), ADZ_ERR_SHAPE, "fweights[1]");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(weights_and_corrections),
    cmocka_unit_test(weights_below_zero_are_refused),
};

const op_case cov_case = {
    .name = "cov",
    .call = call,
    .samples = {
        { .in = { IN(3, 5) }, .p = { 1 } },
        { .in = { IN_T(2, 4) }, .p = { 0 } },
        { .in = { IN(6) }, .p = { 2 } },
        { .in = { IN(3, 4), IN_INDEX(3, 4) }, .p = { 1 } },
        { .in = { IN(2, 5), IN_NONE, IN_OF(FILL_AWAY, 5) }, .p = { 0 } },
        { .in = { IN(2, 9), IN_INDEX(2, 9), IN_OF(FILL_AWAY, 9) }, .p = { 0 } },
        { .in = { IN(1, 3) }, .p = { 1 } },
        { .in = { IN(0, 3) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4, 2) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "more than two" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .no_layouts = true,
    .inputs = { "x", "fweights", "aweights" },
    FACTS(facts),
};
