#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_index_select(a->in[0], (int)a->p[0], a->in[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

FACT(integers_and_masks_are_selected_too)
{
    adz_tensor *index = VALUES(ADZ_I32, 2, 0, 2);
    ASSERT_VALUES(adz_index_select(VALUES(ADZ_I64, 5, 6, 7), 0, index), ADZ_I64, 7, 5, 7);
    ASSERT_VALUES(adz_index_select(VALUES(ADZ_BOOL, 0, 1, 1), -1, index), ADZ_BOOL, 1, 0, 1);
}

FACT(a_bad_index_is_named)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32);
    ASSERT_REFUSED(adz_index_select(x, 1, VALUES(ADZ_I64, 0, 3)), ADZ_ERR_INDEX,
        "index 3 at position [1] is none of the 3");
}

/* A write through the data pointer does not raise the version, so the backward checks the indices
 * again. */
FACT(an_index_that_went_astray_before_the_backward_is_refused)
{
    for (int64_t astray = -2; astray <= 3; astray += 5) {
        adz_tensor *x = LEAF(1, 2, 3), *index = VALUES(ADZ_I64, 0, 2), *dx = NULL;
        adz_tensor *sum = adz_sum(adz_index_select(x, 0, index), ADZ_ALL_DIMS, ADZ_DROPDIM);
        adz_tensor_data_i64(index)[1] = astray;
        assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &x, 1, NULL, &dx), ADZ_ERR_INDEX);
        assert_non_null(strstr(adz_error_message(), "changed since"));
        adz_error_clear();
    }
}

/* With y = x[index] and sum(y^3): d/dx = put(3 y^2), then put(6 y take(c)) along c, which is linear
 * in c. */
FACT(the_third_derivative)
{
    adz_tensor *x = LEAF(1, 2, 3), *c = LEAF(1, 10, 100);
    adz_tensor *row = adz_reshape(x, ADZ_SHAPE(1, 3));
    adz_tensor *y = adz_index_select(row, 1, VALUES(ADZ_I64, 2, 0, 2));
    adz_tensor *first = gradient_by_expression(adz_mul(y, adz_mul(y, y)), x);
    ASSERT_VALUES(first, ADZ_F64, 3, 0, 54);
    adz_tensor *second = gradient_by_expression(adz_mul(first, c), x);
    ASSERT_VALUES(second, ADZ_F64, 6, 0, 3600);
    adz_tensor *along = VALUES(ADZ_F64, 2, 5, 7);
    ASSERT_VALUES(gradient_of(adz_mul(second, along), c), ADZ_F64, 12, 0, 252);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_third_derivative),
    cmocka_unit_test(an_index_that_went_astray_before_the_backward_is_refused),
    cmocka_unit_test(integers_and_masks_are_selected_too),
    cmocka_unit_test(a_bad_index_is_named),
};

const op_case index_select_case = {
    .name = "index_select",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 7) }, .p = { 0 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 3) }, .p = { 1 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 2) }, .p = { -2 } },
        { .in = { IN(9, 63), IN_INDEX(9, 3) }, .p = { 0 } },
        { .in = { IN(6), IN_INDEX(6, 1) }, .p = { 0 } },
        { .in = { IN(3, 2), IN_INDEX_0(2) }, .p = { 1 } },
        { .in = { IN(0, 2), IN_INDEX(2, 3) }, .p = { 1 } },
        { .in = { IN(3, 2), IN_INDEX(2, 0) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 2) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "adz_gather" },
        { .in = { IN(3, 4), IN_MASK(3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_0, IN_INDEX(1, 2) }, .p = { 0 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(0, 4), IN_INDEX(1, 2) }, .p = { 0 }, .status = ADZ_ERR_INDEX, .says = "none of the 0" },
    },
    .first_order_only = true,
    .vectors = { "index_select" },
    .inputs = { "x", "index" },
    .config = config,
    FACTS(facts),
};
