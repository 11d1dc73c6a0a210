#include "ops/facts.h"

/* p[1] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_unique_consecutive_dim(a->in[0], (int)a->p[1], &out[1], &out[2]);
    return out[0] != NULL ? 3 : 0;
}

static adz_tensor *in_plan(void *x)
{
    return adz_unique_consecutive_dim(x, 0, NULL, NULL);
}

FACT(equal_neighbours_become_one)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I32, 1, 2, 1, 2, 1, 3, 1, 2), ADZ_SHAPE(4, 2));
    adz_tensor *inverse, *counts, *y = adz_unique_consecutive_dim(x, 0, &inverse, &counts);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_I32, 1, 2, 1, 3, 1, 2);
    ASSERT_VALUES(inverse, ADZ_I64, 0, 0, 1, 2);
    ASSERT_VALUES(counts, ADZ_I64, 2, 1, 1);
    y = adz_unique_consecutive_dim(adz_transpose(x, 0, 1), -1, NULL, &counts);
    assert_int_equal(adz_tensor_size(y, 1), 3);
    ASSERT_VALUES(counts, ADZ_I64, 2, 1, 1);
    y = adz_unique_consecutive_dim(adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32), 0, &inverse, &counts);
    assert_true(adz_tensor_size(y, 1) == 3 && adz_tensor_numel(inverse) == 0);
}

FACT(the_gradient_goes_to_the_first)
{
    adz_tensor *x = LEAF(5, 3, 5, 3, 4, 4);
    adz_tensor *y = adz_unique_consecutive_dim(adz_reshape(x, ADZ_SHAPE(3, 2)), 0, NULL, NULL);
    y = adz_mul(adz_reshape(y, ADZ_SHAPE(4)), VALUES(ADZ_F64, 1, 2, 3, 4));
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 2, 0, 0, 3, 4);
}

FACT(plans_refuse_it)
{
    adz_plan *plan = adz_plan_new(in_plan, VALUES(ADZ_F32, 0, 1), NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "unique_consecutive_dim"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(equal_neighbours_become_one),
    cmocka_unit_test(the_gradient_goes_to_the_first),
    cmocka_unit_test(plans_refuse_it),
};

const op_case unique_consecutive_dim_case = {
    .name = "unique_consecutive_dim",
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
        { .in = { IN(3, 2) }, .p = { 0, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_0 }, .status = ADZ_ERR_SHAPE, .says = "adz_unique_consecutive takes" },
        { .in = { IN(3, 0) }, .status = ADZ_ERR_SHAPE, .says = "no elements" },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
