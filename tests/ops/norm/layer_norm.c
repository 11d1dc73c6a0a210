#include "ops/facts.h"
#include "ops/sweep.h"

/* p[0] = eps, p[1] = rank of the normalized shape, p[2 ..] its sizes */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_layer_norm(a->in[0], case_shape(a, 1), a->in[1], a->in[2], a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "eps", 1e-5);
    config_shape(config, "normalized_shape", a, 1);
    return true;
}

FACT(a_large_mean_costs_no_digits_in_f32)
{
    adz_tensor *x = VALUES(ADZ_F32, 100001, 100002, 100003, 100004);
    adz_tensor *y = adz_layer_norm(x, ADZ_SHAPE(4), ADZ_NONE, ADZ_NONE, 0);
    adz_tensor *small =
        adz_layer_norm(VALUES(ADZ_F32, 1, 2, 3, 4), ADZ_SHAPE(4), ADZ_NONE, ADZ_NONE, 0);
    assert_true(adz_equal(y, small));
}

/* f32 rounds a large mean. The rounding error of the mean is subtracted too, so no digits are lost.
 */
FACT(nor_does_a_mean_that_is_rounded)
{
    adz_tensor *digits = VALUES(ADZ_F32, 1, 2, 4, 7, 0, 5, 3), *y[2], *g[2];
    adz_tensor *upstream = VALUES(ADZ_F32, 2, 0, 1, 3, 9, 4, 5);
    for (int k = 0; k < 2; ++k) {
        adz_tensor *x = adz_requires_grad_(adz_add_number(digits, k ? 1e6 : 0), true);
        y[k] = adz_layer_norm(x, ADZ_SHAPE(7), ADZ_NONE, ADZ_NONE, 0);
        g[k] = gradient_of(adz_mul(y[k], upstream), x);
    }
    assert_true(adz_allclose(y[1], y[0], 0, 1e-6, false));
    assert_true(adz_allclose(g[1], g[0], 0, 1e-6, false));
}

FACT(a_constant_row_gives_the_bias)
{
    adz_tensor *x = adz_full(ADZ_SHAPE(2, 3), 0.1, ADZ_F32);
    adz_tensor *y = adz_layer_norm(x, ADZ_SHAPE(3), ADZ_NONE, VALUES(ADZ_F32, 1, 2, 3), 1e-5);
    assert_true(adz_allclose(y,
        adz_tensor_from((float[]){ 1, 2, 3, 1, 2, 3 }, ADZ_SHAPE(2, 3), ADZ_F32), 0, 1e-5, false));
}

FACT(nan_stays_in_its_row)
{
    adz_tensor *x = adz_tensor_from((double[]){ 1, NAN, 1, 3 }, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *y = adz_layer_norm(x, ADZ_SHAPE(2), ADZ_NONE, ADZ_NONE, 0);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, NAN, NAN, -1, 1);
}

/* Rows that are shorter and longer than the block of the kernel for the gradient of x. */
FACT(long_rows_have_the_gradients_of_the_expression)
{
    static const int64_t lengths[] = { 511, 512, 513, 700, 1024, 1100 };
    for (int i = 0; i < 6; ++i) {
        const int64_t d = lengths[i];
        adz_tensor *in[] = { adz_randn(ADZ_SHAPE(2, d), ADZ_F64), adz_randn(ADZ_SHAPE(d), ADZ_F64),
            adz_randn(ADZ_SHAPE(d), ADZ_F64) };
        for (int k = 0; k < 3; ++k) {
            adz_requires_grad_(in[k], true);
        }
        adz_tensor *y = adz_layer_norm(in[0], ADZ_SHAPE(d), in[1], in[2], 1e-5);
        y = adz_mul(y, adz_randn(ADZ_SHAPE(2, d), ADZ_F64));
        for (int k = 0; k < 3; ++k) {
            assert_true(adz_allclose(
                gradient_of(y, in[k]), gradient_by_expression(y, in[k]), 1e-12, 1e-12, false));
        }
    }
}

/* A variance that overflows gives NaN. Zeros could be mistaken for a valid result. */
/* Gradients with a graph square the deviations in the dtype of x. They are NaN here, not wrong. */
FACT(a_variance_beyond_all_numbers_costs_no_digits)
{
    adz_tensor *y[2], *dx[2], *again[2];
    for (int k = 0; k < 2; ++k) {
        const double scale = k ? ldexp(1, 532) : 1;
        adz_tensor *x = adz_mul_number(VALUES(ADZ_F64, 1, 2, 3, 7), scale);
        x = adz_requires_grad_(adz_detach(x), true);
        y[k] = adz_layer_norm(x, ADZ_SHAPE(4), ADZ_NONE, ADZ_NONE, 0);
        adz_tensor *loss = adz_mul(y[k], VALUES(ADZ_F64, 1, -2, 5, 3));
        dx[k] = adz_mul_number(gradient_of(loss, x), scale);
        again[k] = adz_mul_number(gradient_by_expression(loss, x), scale);
    }
    assert_true(difference(y[1], y[0], 0) < 1e-15);
    assert_true(difference(dx[1], dx[0], 0) < 1e-15);
    assert_true(difference(again[0], dx[0], 0) < 1e-14);
    ASSERT_VALUES(adz_flatten(again[1], 0, -1), ADZ_F64, NAN, NAN, NAN, NAN);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_variance_beyond_all_numbers_costs_no_digits),
    cmocka_unit_test(long_rows_have_the_gradients_of_the_expression),
    cmocka_unit_test(a_large_mean_costs_no_digits_in_f32),
    cmocka_unit_test(nor_does_a_mean_that_is_rounded),
    cmocka_unit_test(a_constant_row_gives_the_bias),
    cmocka_unit_test(nan_stays_in_its_row),
};

const op_case layer_norm_case = {
    .name = "layer_norm",
    .call = call,
    .samples = {
        { .in = { IN(3, 5), IN(5), IN(5) }, .p = { 1e-5, 1, 5 } },
        { .in = { IN_T(3, 5), IN(5), IN(5) }, .p = { 1e-12, 1, 5 } },
        { .in = { IN(2, 3, 4), IN(3, 4), IN_NONE }, .p = { 1e-5, 2, 3, 4 } },
        { .in = { IN(2, 1, 17), IN_NONE, IN(17) }, .p = { 1e-5, 1, 17 } },
        { .in = { IN(4, 6), IN_NONE, IN_NONE }, .p = { 0.1, 1, 6 } },
        { .in = { IN(0, 3), IN(3), IN(3) }, .p = { 1e-5, 1, 3 } },
        { .in = { IN(9), IN(9), IN(9) }, .p = { 0.5, 1, 9 } }, /* an expanded x is constant */
        { .in = { IN(2, 70), IN_CONST(70), IN(70) }, .p = { 1e-5, 1, 70 } },
    },
    .rejects = {
        { .in = { IN(3, 5), IN(5), IN(5) }, .p = { 1e-5, 1, 4 }, .status = ADZ_ERR_SHAPE, .says = "[4]" },
        { .in = { IN(3, 5), IN(4), IN(5) }, .p = { 1e-5, 1, 5 }, .status = ADZ_ERR_SHAPE, .says = "weight" },
        { .in = { IN(3, 5), IN(5), IN(3) }, .p = { 1e-5, 1, 5 }, .status = ADZ_ERR_SHAPE, .says = "bias" },
        { .in = { IN(3, 5), IN(5), IN(5) }, .p = { -1, 1, 5 }, .status = ADZ_ERR_ARGUMENT, .says = "eps" },
        { .in = { IN(3, 5), IN(5), IN(5) }, .p = { 1e-5, 0 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 5), IN_TYPED(ADZ_F32, 5), IN(5) }, .p = { 1e-5, 1, 5 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3, 5), IN(5), IN(5) }, .p = { 1e-5, 1, 5 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "layer_norm" },
    .inputs = { "x", "weight", "bias" },
    .config = config,
    FACTS(facts),
};
