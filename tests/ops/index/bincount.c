#include "ops/facts.h"

/* p[1] = minlength */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_bincount(a->in[0], a->in[1], (int64_t)a->p[1]), out);
}

FACT(numbers_are_counted)
{
    adz_tensor *x = VALUES(ADZ_I32, 1, 3, 1, 0);
    ASSERT_VALUES(adz_bincount(x, ADZ_NONE, 0), ADZ_I64, 1, 2, 0, 1);
    ASSERT_VALUES(adz_bincount(x, ADZ_NONE, 6), ADZ_I64, 1, 2, 0, 1, 0, 0);
    ASSERT_VALUES(adz_bincount(x, VALUES(ADZ_F32, 1, 2, 4, 8), 2), ADZ_F32, 8, 5, 0, 2);
    ASSERT_VALUES(adz_bincount(x, VALUES(ADZ_I64, 1, 2, 4, 8), 2), ADZ_F64, 8, 5, 0, 2);
    adz_tensor *bytes = adz_bincount(VALUES(ADZ_U8, 255, 255), ADZ_NONE, 0);
    assert_int_equal(adz_tensor_numel(bytes), 256);
    assert_true(adz_tensor_at(bytes, (int64_t[]){ 255 }) == 2);
    assert_int_equal(
        adz_tensor_numel(adz_bincount(adz_zeros(ADZ_SHAPE(0), ADZ_I64), ADZ_NONE, 0)), 0);
}

FACT(numbers_out_of_range_are_refused)
{
    ASSERT_REFUSED(adz_bincount(VALUES(ADZ_I64, 2, -1), ADZ_NONE, 0), ADZ_ERR_INDEX, "x[1] is -1");
    const int64_t huge = INT64_MAX;
    ASSERT_REFUSED(adz_bincount(adz_tensor_from(&huge, ADZ_SHAPE(1), ADZ_I64), ADZ_NONE, 0),
        ADZ_ERR_INDEX, "x[0] is 9223372036854775807");
}

static adz_tensor *counts_of(void *x)
{
    return adz_bincount(x, ADZ_NONE, 0);
}

/* A replay could not make a result of another shape. */
FACT(plans_refuse_it)
{
    adz_plan *plan = adz_plan_new(counts_of, VALUES(ADZ_I64, 0, 1), NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "bincount"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(numbers_are_counted),
    cmocka_unit_test(numbers_out_of_range_are_refused),
    cmocka_unit_test(plans_refuse_it),
};

const op_case bincount_case = {
    .name = "bincount",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(5, 9), IN(9) } },
        { .in = { IN_INDEX(5, 9), IN_T(9) }, .p = { 0, 8 } },
        { .in = { IN_INDEX(3, 40), IN(40) }, .p = { 0, 2 } },
        { .in = { IN_INDEX(4, 6), IN_NONE } },
        { .in = { IN_INDEX(4, 1), IN(1) } },
        { .in = { IN_INDEX(4, 0), IN(0) }, .p = { 0, 3 } },
    },
    .rejects = {
        { .in = { IN(3), IN_NONE }, .status = ADZ_ERR_DTYPE, .says = "must be int64" },
        { .in = { IN_INDEX(3, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "no vector" },
        { .in = { IN_INDEX(3, 2), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "weights[3]" },
        { .in = { IN_INDEX(3, 2), IN_TYPED(ADZ_F16, 2) }, .status = ADZ_ERR_DTYPE, .says = "storage" },
        { .in = { IN_INDEX(3, 2), IN_NONE }, .p = { 0, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "minlength is -1" },
    },
    .first_order_only = true,
    FACTS(facts),
};
