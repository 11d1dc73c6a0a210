/* The tests that std and var have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_STD_VAR_H
#define ADZE_TESTS_OPS_STD_VAR_H

#include <math.h>

#include "ops/case.h"

typedef struct spread {
    adz_tensor *(*of)(adz_tensor *, adz_dims, double, bool);
    float of_digits; /* the result for 0 .. 9 without a correction */
} spread;

static const spread tested;

/* p[0] = keepdim, p[1] = correction, p[2 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.of(a->in[0], case_dims(a, 2), a->p[1], a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    a->p[1] = config_flag(config, "unbiased", true);
    config_dims(config, "dim", a, 2);
    return true;
}

/* Whole numbers far from 0, whose moments are known exactly. The blocks have different means, and
 * the rounding errors of these means must cancel when blocks are joined. */
static void parts_around_a_large_mean_join(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 2, 512, 513, 5000, 300000 };
    for (int k = 0; k < 5; ++k) {
        adz_scope *scope = adz_scope_open();
        const int64_t n = lengths[k];
        adz_tensor *x = adz_zeros(ADZ_SHAPE(n), ADZ_F64);
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < n; ++i) {
            double digit = (double)(i * 7 % 11);
            adz_tensor_data_f64(x)[i] = 1e8 + digit * 0x1p-20;
            sum += digit;
            squares += digit * digit;
        }
        double wanted = (squares - sum * sum / (double)n) / (double)(n - 1) * 0x1p-40;
        double y = adz_item(tested.of(x, ADZ_ALL_DIMS, 1, false));
        wanted = tested.of == adz_std ? sqrt(wanted) : wanted;
        if (!(fabs(y / wanted - 1) < 1e-12)) {
            fail_msg("%d elements: %.17g instead of %.17g", (int)n, y, wanted);
        }
        adz_scope_close(scope);
    }
}

static void too_few_elements(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    assert_true(
        isnan(adz_item(tested.of(adz_ones(ADZ_SHAPE(1), ADZ_F64), ADZ_ALL_DIMS, 1, false))));
    assert_true(
        isnan(adz_item(tested.of(adz_ones(ADZ_SHAPE(0), ADZ_F64), ADZ_ALL_DIMS, 0, false))));
    adz_tensor *x = adz_arange(0, 2, 1, ADZ_F64);
    assert_true(isinf(adz_item(tested.of(x, ADZ_ALL_DIMS, 2, false))));
    assert_true(adz_item(tested.of(adz_ones(ADZ_SHAPE(1), ADZ_F64), ADZ_ALL_DIMS, 0, false)) == 0);
    adz_scope_close(scope);
}

/* The numbers 0 .. 9 plus a million, repeated, in f32. A sum of squares would lose all digits. */
static void a_large_mean_costs_no_digits(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *digits = adz_arange(1000000, 1000010, 1, ADZ_F32);
    adz_tensor *x = adz_contiguous(adz_expand(digits, ADZ_SHAPE(20000, 10)));
    const float expected = tested.of_digits;
    assert_float_equal(adz_item(tested.of(x, ADZ_ALL_DIMS, 0, false)), expected, 1e-6);
    adz_tensor *y = tested.of(adz_contiguous(adz_transpose(x, 0, 1)), ADZ_DIMS(0), 0, false);
    assert_float_equal(adz_tensor_at(y, (int64_t[]){ 19999 }), expected, 1e-6);
    adz_scope_close(scope);
}

/* A mean that f32 rounds costs the gradient no digits. */
static void nor_does_it_cost_the_gradient_any(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *digits = adz_tensor_from((float[]){ 1, 2, 4, 7, 0, 5, 3 }, ADZ_SHAPE(7), ADZ_F32);
    adz_tensor *g[2];
    for (int k = 0; k < 2; ++k) {
        adz_tensor *x = adz_requires_grad_(adz_add_number(digits, k ? 1e6 : 0), true);
        assert_int_equal(adz_backward(tested.of(x, ADZ_ALL_DIMS, 1, false)), ADZ_OK);
        g[k] = adz_tensor_grad(x);
    }
    assert_true(adz_allclose(g[1], g[0], 0, 1e-6, false));
    adz_scope_close(scope);
}

static void a_scalar_has_no_spread(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    for (int correction = 0; correction < 2; ++correction) {
        adz_tensor *x = adz_requires_grad_(adz_scalar(3, ADZ_F64), true);
        adz_tensor *y = tested.of(x, ADZ_ALL_DIMS, correction, false);
        assert_int_equal(adz_backward(y), ADZ_OK);
        double value = adz_item(y), slope = adz_item(adz_tensor_grad(x));
        assert_true(correction == 0 ? value == 0 && slope == 0 : isnan(value) && isnan(slope));
    }
    adz_scope_close(scope);
}

static void nan_spreads(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 1, NAN, 3, 1, 2, 4 };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *y = tested.of(x, ADZ_DIMS(1), 1, false);
    assert_true(isnan(adz_tensor_at(y, (int64_t[]){ 0 })));
    assert_true(!isnan(adz_tensor_at(y, (int64_t[]){ 1 })));
    adz_scope_close(scope);
}

#define SHARED_FACTS                                                                        \
    cmocka_unit_test(too_few_elements), cmocka_unit_test(parts_around_a_large_mean_join),   \
        cmocka_unit_test(a_large_mean_costs_no_digits),                                     \
        cmocka_unit_test(nor_does_it_cost_the_gradient_any), cmocka_unit_test(nan_spreads), \
        cmocka_unit_test(a_scalar_has_no_spread)

/* clang-format off */
#define STD_VAR_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(3, 4, 2) }, .p = { 0, 1, -1 } }, \
        { .in = { IN(3, 4, 2) }, .p = { 1, 0, 2, 0, 2 } }, \
        { .in = { IN_T(3, 4) }, .p = { 0, 1, 1, 0 } }, \
        { .in = { IN_T(3, 4) }, .p = { 1, 0.5, 1, -1 } }, \
        { .in = { IN(3, 1, 4) }, .p = { 0, 0, 2, 1, 0 } }, \
        { .in = { IN(0, 4) }, .p = { 0, 1, 1, 1 } }, \
        { .in = { IN(37) }, .p = { 0, 1, -1 } }, \
        { .in = { IN(5, 70) }, .p = { 0, 1, 1, 0 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4) }, .p = { 0, 1, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" }, \
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0, 1, -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
        { .in = { IN(3) }, .p = { 0, NAN, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "correction" }, \
    }, \
    .vectors = { op }, \
    .inputs = { "x" }, \
    .config = config, \
    FACTS(facts)
/* clang-format on */

#endif
