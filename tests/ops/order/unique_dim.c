#include "ops/facts.h"

/* p[1] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_unique_dim(a->in[0], (int)a->p[1], &out[1], &out[2]);
    return out[0] != NULL ? 3 : 0;
}

static adz_tensor *matrix(adz_tensor *values, int64_t rows)
{
    return adz_reshape(values, ADZ_SHAPE(rows, adz_tensor_numel(values) / rows));
}

static adz_tensor *flat(adz_tensor *t)
{
    return adz_reshape(t, ADZ_SHAPE(adz_tensor_numel(t)));
}

FACT(each_row_once_with_its_places)
{
    adz_tensor *x = matrix(VALUES(ADZ_I64, 2, 1, 1, 9, 2, 1, -3, 4, 1, 9, 2, 0), 6);
    adz_tensor *inverse, *counts, *y = adz_unique_dim(x, 0, &inverse, &counts);
    assert_int_equal(adz_tensor_size(y, 0), 4);
    ASSERT_VALUES(flat(y), ADZ_I64, -3, 4, 1, 9, 2, 0, 2, 1);
    ASSERT_VALUES(inverse, ADZ_I64, 3, 1, 3, 0, 1, 2);
    ASSERT_VALUES(counts, ADZ_I64, 1, 2, 1, 2);
}

/* Whole numbers above 2^53 differ, and bytes are not negative. */
FACT(columns_and_other_types)
{
    adz_tensor *x = matrix(VALUES(ADZ_U8, 200, 3, 200, 1, 9, 1), 2);
    ASSERT_VALUES(flat(adz_unique_dim(x, -1, NULL, NULL)), ADZ_U8, 3, 200, 9, 1);
    const int64_t large[] = { INT64_MAX, INT64_MAX - 1 };
    adz_tensor *y = adz_unique_dim(adz_tensor_from(large, ADZ_SHAPE(2, 1), ADZ_I64), 0, NULL, NULL);
    assert_int_equal(adz_tensor_numel(y), 2);
    y = adz_unique_dim(matrix(VALUES(ADZ_BOOL, 1, 1, 0, 1, 1, 1), 3), 0, NULL, NULL);
    ASSERT_VALUES(flat(y), ADZ_BOOL, 0, 1, 1, 1);
}

/* A subtensor of a dimension in the middle is compared in row-major order. */
FACT(subtensors_of_three_dimensions)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 5, 1, 0, 0, 5, 0), ADZ_SHAPE(2, 3, 1));
    adz_tensor *inverse, *y = adz_unique_dim(x, 1, &inverse, NULL);
    ASSERT_VALUES(flat(y), ADZ_F64, 0, 1, 5, 0, 5, 0);
    ASSERT_VALUES(inverse, ADZ_I64, 2, 1, 0);
}

/* NaN comes last and differs from NaN, and 0 equals -0. */
FACT(equal_as_numbers)
{
    adz_tensor *x = matrix(VALUES(ADZ_F32, NAN, 2, NAN, 1, 0, 7, -0.0, 7, NAN, 1, 0, NAN), 6);
    adz_tensor *inverse, *counts, *y = adz_unique_dim(x, 0, &inverse, &counts);
    ASSERT_VALUES(flat(y), ADZ_F32, 0, 7, 0, NAN, NAN, 1, NAN, 1, NAN, 2);
    ASSERT_VALUES(counts, ADZ_I64, 2, 1, 1, 1, 1);
    ASSERT_VALUES(inverse, ADZ_I64, 4, 2, 0, 0, 3, 1);
}

FACT(the_gradient_goes_to_the_first_occurrence)
{
    adz_tensor *x = LEAF(5, 3, 5, 3, 4, 4);
    adz_tensor *y = adz_unique_dim(matrix(x, 3), 0, NULL, NULL);
    y = adz_mul(flat(y), VALUES(ADZ_F64, 1, 2, 3, 4));
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 3, 4, 0, 0, 1, 2);
}

FACT(no_subtensor)
{
    adz_tensor *inverse, *counts;
    adz_tensor *y = adz_unique_dim(adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32), 0, &inverse, &counts);
    assert_true(adz_tensor_size(y, 0) == 0 && adz_tensor_size(y, 1) == 3);
    assert_true(adz_tensor_numel(inverse) == 0 && adz_tensor_numel(counts) == 0);
}

static adz_tensor *rows_in(void *x)
{
    return adz_unique_dim(x, 0, NULL, NULL);
}

/* A replay could not make a result of another shape. */
FACT(plans_refuse_it)
{
    adz_plan *plan = adz_plan_new(rows_in, VALUES(ADZ_F32, 0, 1), NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "unique_dim"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_row_once_with_its_places),
    cmocka_unit_test(columns_and_other_types),
    cmocka_unit_test(subtensors_of_three_dimensions),
    cmocka_unit_test(equal_as_numbers),
    cmocka_unit_test(the_gradient_goes_to_the_first_occurrence),
    cmocka_unit_test(no_subtensor),
    cmocka_unit_test(plans_refuse_it),
};

const op_case unique_dim_case = {
    .name = "unique_dim",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 7) } },
        { .in = { IN_T_OF(FILL_DISTINCT, 4, 3) } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 2) }, .p = { 0, -1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 2, 3, 4) }, .p = { 0, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 5) } },
        { .in = { IN_OF(FILL_DISTINCT, 33, 2) } },
        { .in = { IN_INDEX(3, 30, 2) } },
        { .in = { IN_INDEX(2, 3, 40) }, .p = { 0, 1 } },
        { .in = { IN(0, 2) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_BF16, 3) }, .status = ADZ_ERR_DTYPE, .says = "storage" },
        { .in = { IN(3, 2) }, .p = { 0, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_0 }, .status = ADZ_ERR_SHAPE, .says = "adz_unique takes any shape" },
        { .in = { IN(3, 0) }, .status = ADZ_ERR_SHAPE, .says = "no elements" },
        { .in = { IN_NONE }, .status = ADZ_ERR_ARGUMENT },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
