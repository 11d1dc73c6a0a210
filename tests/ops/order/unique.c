#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_unique(a->in[0], &out[1], &out[2]);
    return out[0] != NULL ? 3 : 0;
}

FACT(each_value_once_with_its_places)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I64, 7, 2, 7, -1, 2, 7), ADZ_SHAPE(2, 3));
    adz_tensor *inverse, *counts;
    ASSERT_VALUES(adz_unique(x, &inverse, &counts), ADZ_I64, -1, 2, 7);
    assert_int_equal(adz_tensor_size(inverse, 1), 3);
    ASSERT_VALUES(adz_reshape(inverse, ADZ_SHAPE(6)), ADZ_I64, 2, 1, 2, 0, 1, 2);
    ASSERT_VALUES(counts, ADZ_I64, 1, 2, 3);
    ASSERT_VALUES(adz_unique(VALUES(ADZ_BOOL, 1, 0, 1), NULL, NULL), ADZ_BOOL, 0, 1);
}

/* NaN differs from NaN, and 0 equals -0. */
FACT(equal_as_numbers)
{
    adz_tensor *counts, *inverse;
    adz_tensor *y = adz_unique(VALUES(ADZ_F32, NAN, 0, -0.0, NAN, 0), &inverse, &counts);
    ASSERT_VALUES(y, ADZ_F32, 0, NAN, NAN);
    ASSERT_VALUES(counts, ADZ_I64, 3, 1, 1);
    ASSERT_VALUES(inverse, ADZ_I64, 1, 0, 0, 2, 0);
}

FACT(the_gradient_goes_to_the_first_occurrence)
{
    adz_tensor *x = LEAF(5, 3, 5, 3, 4);
    adz_tensor *y = adz_mul(adz_unique(x, NULL, NULL), VALUES(ADZ_F64, 10, 20, 30));
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 30, 10, 0, 0, 20);
}

FACT(no_element_has_no_value)
{
    adz_tensor *inverse, *counts;
    adz_tensor *y = adz_unique(adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32), &inverse, &counts);
    assert_true(adz_tensor_numel(y) == 0 && adz_tensor_numel(counts) == 0);
    assert_int_equal(adz_tensor_size(inverse, 1), 3);
}

static adz_tensor *values_in(void *x)
{
    return adz_unique(x, NULL, NULL);
}

/* A replay could not make a result of another shape. */
FACT(plans_refuse_it)
{
    adz_plan *plan = adz_plan_new(values_in, VALUES(ADZ_F32, 0, 1), NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "unique"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_value_once_with_its_places),
    cmocka_unit_test(equal_as_numbers),
    cmocka_unit_test(the_gradient_goes_to_the_first_occurrence),
    cmocka_unit_test(no_element_has_no_value),
    cmocka_unit_test(plans_refuse_it),
};

const op_case unique_case = {
    .name = "unique",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 7) } },
        { .in = { IN_T_OF(FILL_DISTINCT, 4, 3) } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 2) } },
        { .in = { IN_OF(FILL_DISTINCT, 1) } },
        { .in = { IN_0_OF(FILL_DISTINCT) } },
        { .in = { IN_OF(FILL_DISTINCT, 100) } },
        { .in = { IN_INDEX(5, 30) } },
        { .in = { IN(0, 2) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "storage" },
        { .in = { IN_NONE }, .status = ADZ_ERR_ARGUMENT },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
