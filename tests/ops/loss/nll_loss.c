#include "ops/facts.h"

/* p[0] = reduction, p[1] = ignore_index */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_nll_loss(a->in[0], a->in[1], a->in[2], (int64_t)a->p[1], (adz_reduction)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, "ignore_index", -100);
    return true;
}

static void ignored_rows_give_zero_and_a_mean_of_none_is_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int64_t classes[] = { -1, 1 };
    double values[] = { 5, 6, 7, 8 }, expected[] = { 0, 0, 0, -1 };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(2, 2), ADZ_F64), true);
    adz_tensor *t = adz_tensor_from(classes, ADZ_SHAPE(2), ADZ_I64);
    adz_tensor *mean = adz_nll_loss(x, t, ADZ_NONE, -1, ADZ_REDUCE_MEAN);
    assert_float_equal(adz_item(mean), -8, 0);
    assert_int_equal(adz_backward(mean), ADZ_OK);
    assert_true(adz_equal(adz_tensor_grad(x), adz_tensor_from(expected, ADZ_SHAPE(2, 2), ADZ_F64)));
    classes[1] = -1;
    t = adz_tensor_from(classes, ADZ_SHAPE(2), ADZ_I64);
    mean = adz_nll_loss(x, t, ADZ_NONE, -1, ADZ_REDUCE_MEAN);
    assert_true(isnan(adz_item(mean)));
    ASSERT_VALUES(adz_flatten(gradient_of(mean, x), 0, -1), ADZ_F64, 0, 0, 0, 0);
    assert_float_equal(adz_item(adz_nll_loss(x, t, ADZ_NONE, -1, ADZ_REDUCE_SUM)), 0, 0);
    adz_scope_close(scope);
}

static void i32_targets_and_a_single_row(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int32_t class_of = 2;
    float values[] = { 1, 2, 4 };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(3), ADZ_F32);
    adz_tensor *t = adz_tensor_from(&class_of, ADZ_SHAPE_SCALAR, ADZ_I32);
    assert_float_equal(adz_item(adz_nll_loss(x, t, ADZ_NONE, -100, ADZ_REDUCE_NONE)), -4, 0);
    adz_scope_close(scope);
}

static void a_class_out_of_range_is_named(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int64_t classes[] = { 0, 3 };
    adz_tensor *t = adz_tensor_from(classes, ADZ_SHAPE(2), ADZ_I64);
    assert_null(
        adz_nll_loss(adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), t, ADZ_NONE, -100, ADZ_REDUCE_MEAN));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    assert_non_null(strstr(adz_error_message(), "target 3 at position 1"));
    adz_error_clear();
    adz_scope_close(scope);
}

static void a_weight_that_wants_a_gradient_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    assert_null(adz_nll_loss(adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), adz_zeros(ADZ_SHAPE(2), ADZ_I64),
        w, -100, ADZ_REDUCE_MEAN));
    assert_int_equal(adz_error_code(), ADZ_ERR_UNSUPPORTED);
    adz_error_clear();
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(ignored_rows_give_zero_and_a_mean_of_none_is_nan),
    cmocka_unit_test(i32_targets_and_a_single_row),
    cmocka_unit_test(a_class_out_of_range_is_named),
    cmocka_unit_test(a_weight_that_wants_a_gradient_is_refused),
};

const op_case nll_loss_case = {
    .name = "nll_loss",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_CONST_OF(FILL_POSITIVE, 4) }, .p = { ADZ_REDUCE_MEAN, -100 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_NONE, 1 } },
        { .in = { IN(3, 4, 2), IN_INDEX(4, 3, 2), IN_CONST_OF(FILL_POSITIVE, 4) }, .p = { ADZ_REDUCE_SUM, -100 } },
        { .in = { IN(2, 3, 2, 1), IN_INDEX(3, 2, 2, 1), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 0 } },
        { .in = { IN(4), IN_INDEX_0(4), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100 } },
        { .in = { IN(0, 3), IN_INDEX(3, 0), IN_NONE }, .p = { ADZ_REDUCE_SUM, -100 } },
        { .in = { IN(4, 1), IN_INDEX(1, 4), IN_NONE }, .p = { ADZ_REDUCE_NONE, -100 } },
    },
    .rejects = {
        { .in = { IN(5, 4), IN_INDEX(4, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100 }, .status = ADZ_ERR_SHAPE, .says = "[5]" },
        { .in = { IN(5, 4), IN(5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_CONST(3) }, .p = { ADZ_REDUCE_MEAN, -100 }, .status = ADZ_ERR_SHAPE, .says = "weight" },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { 9, -100 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN_0, IN_INDEX_0(1), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100 }, .status = ADZ_ERR_SHAPE },
    },
    .vectors = { "nll_loss" },
    .inputs = { "x", "target", "weight" },
    .config = config,
    FACTS(facts),
};
