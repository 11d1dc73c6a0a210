#include "ops/facts.h"

/* p[0] = training, p[1] = momentum, p[2] = eps. The operator updates copies of the running
 * statistics, which are results of the call too. */
static int call(const op_args *a, adz_tensor **out)
{
    bool none = a->in[1] == ADZ_NONE;
    adz_tensor *mean = none ? a->in[1] : adz_clone(a->in[1]);
    adz_tensor *var = a->in[2] == ADZ_NONE ? a->in[2] : adz_clone(a->in[2]);
    out[0] =
        adz_batch_norm(a->in[0], mean, var, a->in[3], a->in[4], a->p[0] != 0, a->p[1], a->p[2]);
    out[1] = mean;
    out[2] = var;
    return out[0] == NULL ? 0 : none ? 1 : 3;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "training", true);
    a->p[1] = config_number(config, "momentum", 0.1);
    a->p[2] = config_number(config, "eps", 1e-5);
    return true;
}

FACT(running_statistics_move_in_position_with_the_unbiased_variance)
{
    adz_tensor *x = adz_tensor_from((double[]){ 1, 10, 3, 30 }, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *mean = VALUES(ADZ_F64, 0, 100), *var = VALUES(ADZ_F64, 1, 0);
    assert_non_null(adz_batch_norm(x, mean, var, ADZ_NONE, ADZ_NONE, true, 0.5, 0));
    ASSERT_VALUES(mean, ADZ_F64, 1, 60);
    ASSERT_VALUES(var, ADZ_F64, 1.5, 100);
    assert_non_null(adz_batch_norm(x, mean, var, ADZ_NONE, ADZ_NONE, false, 0.5, 0));
    ASSERT_VALUES(mean, ADZ_F64, 1, 60);
}

FACT(strided_running_statistics_are_updated_where_they_lie)
{
    adz_tensor *x = adz_tensor_from((double[]){ 1, 10, 3, 30 }, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *both = adz_zeros(ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *mean = adz_squeeze(adz_slice(both, 1, 0, 1, 1), 1);
    adz_tensor *var = adz_squeeze(adz_slice(both, 1, 1, 2, 1), 1);
    assert_non_null(adz_batch_norm(x, mean, var, ADZ_NONE, ADZ_NONE, true, 1, 0));
    ASSERT_VALUES(adz_reshape(both, ADZ_SHAPE(4)), ADZ_F64, 2, 2, 20, 200);
    adz_tensor *one = adz_expand(VALUES(ADZ_F64, 0), ADZ_SHAPE(2));
    ASSERT_REFUSED(adz_batch_norm(x, one, var, ADZ_NONE, ADZ_NONE, true, 1, 0), ADZ_ERR_INPLACE,
        "adz_contiguous");
}

FACT(a_refused_call_or_an_empty_batch_moves_nothing)
{
    adz_tensor *mean = VALUES(ADZ_F64, 7), *var = VALUES(ADZ_F64, 8);
    adz_tensor *single = adz_ones(ADZ_SHAPE(1, 1), ADZ_F64);
    ASSERT_REFUSED(adz_batch_norm(single, mean, var, ADZ_NONE, ADZ_NONE, true, 0.5, 1e-5),
        ADZ_ERR_SHAPE, "single value");
    assert_non_null(adz_batch_norm(
        adz_ones(ADZ_SHAPE(0, 1), ADZ_F64), mean, var, ADZ_NONE, ADZ_NONE, true, 0.5, 1e-5));
    assert_non_null(adz_batch_norm(single, mean, var, ADZ_NONE, ADZ_NONE, false, 0.5, 1e-5));
    ASSERT_VALUES(mean, ADZ_F64, 7);
    ASSERT_VALUES(var, ADZ_F64, 8);
}

FACT(running_statistics_may_move_on_before_the_backward)
{
    adz_tensor *mean = VALUES(ADZ_F64, 1, 2), *var = VALUES(ADZ_F64, 4, 9);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 2), ADZ_F64), true);
    adz_tensor *y = adz_batch_norm(x, mean, var, ADZ_NONE, ADZ_NONE, false, 0.1, 0);
    adz_mul_number_(var, 100);
    adz_tensor *g = gradient_of(y, x);
    ASSERT_VALUES(adz_reshape(adz_slice(g, 0, 0, 1, 1), ADZ_SHAPE(2)), ADZ_F64, 0.5, 1.0 / 3);
}

FACT(running_statistics_that_want_a_gradient_are_refused)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 1), ADZ_F64);
    ASSERT_REFUSED(
        adz_batch_norm(x, LEAF(1), VALUES(ADZ_F64, 1), ADZ_NONE, ADZ_NONE, false, 0.1, 1e-5),
        ADZ_ERR_UNSUPPORTED, "adz_detach");
}

/* f32 rounds a large mean. The rounding error of the mean is subtracted too, so no digits are lost.
 */
FACT(a_large_mean_costs_no_digits_in_f32)
{
    const float digits[] = { 1, 2, 4, 7, 0, 5, 3 };
    for (int rows = 0; rows < 2; ++rows) { /* channels as columns, and as contiguous rows */
        adz_shape shape = rows ? ADZ_SHAPE(1, 1, 7) : ADZ_SHAPE(7, 1);
        adz_tensor *small = adz_tensor_from(digits, shape, ADZ_F32), *y[2], *g[2];
        adz_tensor *upstream = adz_tensor_from((float[]){ 2, 0, 1, 3, 9, 4, 5 }, shape, ADZ_F32);
        for (int k = 0; k < 2; ++k) {
            adz_tensor *x = adz_requires_grad_(adz_add_number(small, k ? 1e6 : 0), true);
            y[k] = adz_batch_norm(x, ADZ_NONE, ADZ_NONE, ADZ_NONE, ADZ_NONE, true, 0.1, 0);
            g[k] = gradient_of(adz_mul(y[k], upstream), x);
        }
        assert_true(adz_allclose(y[1], y[0], 0, 1e-6, false));
        assert_true(adz_allclose(g[1], g[0], 0, 1e-6, false));
    }
}

/* A variance that overflows gives NaN. Zeros could be mistaken for a valid result. */
FACT(a_variance_beyond_all_numbers_gives_nan)
{
    adz_tensor *x = VALUES(ADZ_F64, 1e160, 2e160, 3e160, 4e160);
    x = adz_requires_grad_(adz_reshape(x, ADZ_SHAPE(4, 1)), true);
    adz_tensor *y = adz_batch_norm(x, ADZ_NONE, ADZ_NONE, ADZ_NONE, ADZ_NONE, true, 0.1, 1e-5);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, NAN, NAN, NAN, NAN);
    ASSERT_VALUES(adz_flatten(gradient_of(y, x), 0, -1), ADZ_F64, NAN, NAN, NAN, NAN);
    adz_tensor *g = gradient_by_expression(y, x);
    ASSERT_VALUES(adz_flatten(g, 0, -1), ADZ_F64, NAN, NAN, NAN, NAN);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_variance_beyond_all_numbers_gives_nan),
    cmocka_unit_test(a_large_mean_costs_no_digits_in_f32),
    cmocka_unit_test(running_statistics_move_in_position_with_the_unbiased_variance),
    cmocka_unit_test(strided_running_statistics_are_updated_where_they_lie),
    cmocka_unit_test(a_refused_call_or_an_empty_batch_moves_nothing),
    cmocka_unit_test(running_statistics_may_move_on_before_the_backward),
    cmocka_unit_test(running_statistics_that_want_a_gradient_are_refused),
};

#define MEAN(n) IN_CONST(n)
#define VAR(n)  IN_CONST_OF(FILL_POSITIVE, n)

const op_case batch_norm_case = {
    .name = "batch_norm",
    .call = call,
    .samples = {
        { .in = { IN(7, 3), MEAN(3), VAR(3), IN(3), IN(3) }, .p = { 1, 0.1, 1e-5 } },
        { .in = { IN(7, 3), MEAN(3), VAR(3), IN(3), IN(3) }, .p = { 0, 0.1, 1e-5 } },
        { .in = { IN_T(3, 4, 2), MEAN(4), VAR(4), IN(4), IN_NONE }, .p = { 1, 0.3, 1e-3 } },
        { .in = { IN_T(3, 4, 9), MEAN(4), VAR(4), IN_NONE, IN(4) }, .p = { 0, 0.3, 1e-3 } },
        { .in = { IN(2, 3, 2, 5), IN_NONE, IN_NONE, IN(3), IN(3) }, .p = { 1, 0, 1e-5 } },
        { .in = { IN(6, 1), MEAN(1), VAR(1), IN_NONE, IN_NONE }, .p = { 1, 1, 1e-5 } },
        { .in = { IN(0, 3), MEAN(3), VAR(3), IN(3), IN(3) }, .p = { 1, 0.1, 1e-5 } },
        { .in = { IN(3, 70), MEAN(70), VAR(70), IN(70), IN_CONST(70) }, .p = { 1, 0.1, 0.1 } },
        { .in = { IN(2, 3, 19), MEAN(3), VAR(3), IN(3), IN(3) }, .p = { 1, 0.1, 1e-5 } },
        { .in = { IN(1, 2, 11), MEAN(2), VAR(2), IN(2), IN(2) }, .p = { 1, 0.1, 1e-5 } },
    },
    .rejects = {
        { .in = { IN(7), MEAN(7), VAR(7), IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "[N, C, ...]" },
        { .in = { IN(7, 3), MEAN(2), VAR(3), IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "running_mean" },
        { .in = { IN(7, 3), MEAN(3), VAR(3), IN(7), IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "weight" },
        { .in = { IN(7, 3), IN_NONE, IN_NONE, IN_NONE, IN_NONE }, .p = { 0, 0.1, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "evaluation" },
        { .in = { IN(7, 3), MEAN(3), IN_NONE, IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "together" },
        { .in = { IN(1, 3), MEAN(3), VAR(3), IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "single value" },
        { .in = { IN(7, 3), MEAN(3), VAR(3), IN_NONE, IN_NONE }, .p = { 1, 1.5, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "momentum" },
        { .in = { IN_TYPED(ADZ_I64, 7, 3), MEAN(3), VAR(3), IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "batch_norm" },
    .inputs = { "x", "running_mean", "running_var", "weight", "bias" },
    .outputs = { "y", "running_mean", "running_var" },
    .config = config,
    FACTS(facts),
};
