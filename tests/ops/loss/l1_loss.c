#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_l1_loss(a->in[0], a->in[1], (adz_reduction)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    return true;
}

static void nan_reaches_the_loss_and_pulls_nowhere(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 1, NAN };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *l = adz_l1_loss(x, adz_zeros(ADZ_SHAPE(2), ADZ_F64), ADZ_REDUCE_SUM);
    assert_true(isnan(adz_item(l)));
    assert_int_equal(adz_backward(l), ADZ_OK);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 0 }), 1, 0);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 1 }), 0, 0);
    adz_scope_close(scope);
}

FACT(equal_numbers_pull_nowhere)
{
    adz_tensor *x = LEAF(3, 5), *t = LEAF(3, 4);
    adz_tensor *l = adz_l1_loss(x, t, ADZ_REDUCE_SUM);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 0, 1);
    ASSERT_VALUES(gradient_of(l, t), ADZ_F64, 0, -1);
    ASSERT_VALUES(gradient_by_expression(l, x), ADZ_F64, 0, 1);
    ASSERT_VALUES(gradient_by_expression(l, t), ADZ_F64, 0, -1);
}

static void the_mean_of_nothing_is_nan_and_the_sum_zero(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32);
    assert_true(isnan(adz_item(adz_l1_loss(x, x, ADZ_REDUCE_MEAN))));
    assert_float_equal(adz_item(adz_l1_loss(x, x, ADZ_REDUCE_SUM)), 0, 0);
    adz_scope_close(scope);
}

static void a_long_sum_is_exact(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const int64_t n = (1 << 24) + 3; /* f32 cannot count so far; it takes more than 16 blocks */
    adz_tensor *x = adz_ones(ADZ_SHAPE(n), ADZ_F32), *t = adz_zeros(ADZ_SHAPE(n), ADZ_F32);
    assert_float_equal(adz_item(adz_l1_loss(x, t, ADZ_REDUCE_SUM)), (double)(float)n, 0);
    assert_float_equal(adz_item(adz_l1_loss(x, t, ADZ_REDUCE_MEAN)), 1, 0);
    adz_scope_close(scope);
}

/* x and target are expanded to their common shape first, so the dtype of a scalar counts like that
 * of any tensor. */
FACT(a_scalar_target_promotes_as_any_other)
{
    adz_tensor *x = adz_requires_grad_(VALUES(ADZ_F32, 1, 3), true);
    adz_tensor *t = adz_requires_grad_(adz_scalar(0.5, ADZ_F64), true);
    adz_tensor *l = adz_l1_loss(x, t, ADZ_REDUCE_NONE);
    ASSERT_VALUES(l, ADZ_F64, 0.5, 2.5);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F32, 1, 1);
    assert_int_equal(adz_tensor_dtype(gradient_of(l, t)), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(adz_l1_loss(x, t, ADZ_REDUCE_MEAN)), ADZ_F64);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_scalar_target_promotes_as_any_other),
    cmocka_unit_test(nan_reaches_the_loss_and_pulls_nowhere),
    cmocka_unit_test(equal_numbers_pull_nowhere),
    cmocka_unit_test(the_mean_of_nothing_is_nan_and_the_sum_zero),
    cmocka_unit_test(a_long_sum_is_exact),
};

const op_case l1_loss_case = {
    .name = "l1_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN_T(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(3, 4), IN_T(3, 4) }, .p = { ADZ_REDUCE_NONE } },
        { .in = { IN(3, 1), IN(4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(1), IN(1) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(300), IN(300) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(5, 7), IN_CONST(5, 7) }, .p = { ADZ_REDUCE_MEAN } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3) }, .p = { ADZ_REDUCE_BATCHMEAN }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "l1_loss" },
    .inputs = { "x", "target" },
    .config = config,
    FACTS(facts),
};
