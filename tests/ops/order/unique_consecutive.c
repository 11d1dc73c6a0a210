#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_unique_consecutive(a->in[0], &out[1], &out[2]);
    return out[0] != NULL ? 3 : 0;
}

static adz_tensor *in_plan(void *x)
{
    return adz_unique_consecutive(x, NULL, NULL);
}

FACT(runs_become_one)
{
    adz_tensor *inverse, *counts, *x = VALUES(ADZ_I64, 1, 1, 2, 2, 2, 1, 3);
    adz_tensor *y = adz_unique_consecutive(x, &inverse, &counts);
    ASSERT_VALUES(y, ADZ_I64, 1, 2, 1, 3);
    ASSERT_VALUES(inverse, ADZ_I64, 0, 0, 1, 1, 1, 2, 3);
    ASSERT_VALUES(counts, ADZ_I64, 2, 3, 1, 1);
    y = adz_unique_consecutive(
        adz_reshape(VALUES(ADZ_F32, 0, -0.0, NAN, NAN), ADZ_SHAPE(2, 2)), &inverse, NULL);
    ASSERT_VALUES(y, ADZ_F32, 0, NAN, NAN);
    assert_int_equal(adz_tensor_rank(inverse), 2);
    y = adz_unique_consecutive(adz_zeros(ADZ_SHAPE(0, 2), ADZ_F32), &inverse, &counts);
    assert_true(adz_tensor_numel(y) == 0 && adz_tensor_numel(counts) == 0);
}

FACT(the_gradient_goes_to_the_first)
{
    adz_tensor *x = LEAF(5, 5, 3, 5);
    adz_tensor *y = adz_mul(adz_unique_consecutive(x, NULL, NULL), VALUES(ADZ_F64, 1, 2, 3));
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 0, 2, 3);
}

FACT(plans_refuse_it)
{
    adz_plan *plan = adz_plan_new(in_plan, VALUES(ADZ_F32, 0, 1), NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "unique_consecutive"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(runs_become_one),
    cmocka_unit_test(the_gradient_goes_to_the_first),
    cmocka_unit_test(plans_refuse_it),
};

const op_case unique_consecutive_case = {
    .name = "unique_consecutive",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 7) } },
        { .in = { IN_T_OF(FILL_DISTINCT, 4, 3) } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 2) }, .p = { 0, -1 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 5) } },
        { .in = { IN_INDEX(2, 30) } },
        { .in = { IN(0, 2) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_BF16, 3) }, .status = ADZ_ERR_DTYPE, .says = "storage" },
        { .in = { IN_NONE }, .status = ADZ_ERR_ARGUMENT },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
