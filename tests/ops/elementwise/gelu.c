#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_gelu(a->in[0], (adz_gelu_approximate)(int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    bool tanh = strcmp(config_text(config, "approximate", "none"), "tanh") == 0;
    a->p[0] = tanh ? ADZ_GELU_TANH : ADZ_GELU_NONE;
    return true;
}

static double at(adz_tensor *y, int64_t i)
{
    return adz_tensor_at(y, &i);
}

/* The gradient of the sum of y = f(x), where x is f32 or f64. *y receives f(x). */
static adz_tensor *slope(adz_tensor *x, adz_tensor *(*f)(adz_tensor *), adz_tensor **y)
{
    adz_requires_grad_(x, true);
    *y = f(x);
    assert_int_equal(adz_backward(adz_sum(*y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    return adz_tensor_grad(x);
}

static adz_tensor *exact(adz_tensor *x)
{
    return adz_gelu(x, ADZ_GELU_NONE);
}

static adz_tensor *by_tanh(adz_tensor *x)
{
    return adz_gelu(x, ADZ_GELU_TANH);
}

/* Far from 0, GELU is 0 or x, without overflow of x^2 or x^3. */
static void far_from_zero(void **state)
{
    (void)state;
    for (int k = 0; k < 2; ++k) {
        adz_scope *scope = adz_scope_open();
        float values[] = { -1e15f, -40, 40, 1e15f };
        adz_tensor *y, *x = adz_tensor_from(values, ADZ_SHAPE(4), ADZ_F32);
        adz_tensor *g = slope(x, k == 0 ? exact : by_tanh, &y);
        for (int64_t i = 0; i < 4; ++i) {
            assert_true(at(y, i) == (i < 2 ? 0 : (double)values[i]));
            assert_true(at(g, i) == (i < 2 ? 0 : 1));
        }
        adz_scope_close(scope);
    }
}

static void known_values_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 1, 0, NAN };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(3), ADZ_F64), *y;
    adz_tensor *g = slope(x, exact, &y);
    assert_true(fabs(at(y, 0) - 0.841344746068542949) < 1e-15);
    assert_true(at(y, 1) == 0 && at(g, 1) == 0.5);
    assert_true(isnan(at(y, 2)) && isnan(at(g, 2)));
    x = adz_tensor_from(values, ADZ_SHAPE(3), ADZ_F64);
    g = slope(x, by_tanh, &y);
    assert_true(fabs(at(y, 0) - 0.841191990608276) < 1e-14);
    assert_true(at(y, 1) == 0 && at(g, 1) == 0.5);
    assert_true(isnan(at(y, 2)) && isnan(at(g, 2)));
    adz_scope_close(scope);
}

/* At minus infinity GELU is infinity times 0, which is NaN, in both dtypes and both approximations.
 */
FACT(minus_infinity_gives_nan_in_either_dtype)
{
    for (int k = 0; k < 4; ++k) {
        adz_dtype dtype = k < 2 ? ADZ_F32 : ADZ_F64;
        adz_tensor *x = adz_requires_grad_(VALUES(dtype, -INFINITY, INFINITY, 1e30), true);
        adz_tensor *y = adz_gelu(x, k % 2 == 0 ? ADZ_GELU_NONE : ADZ_GELU_TANH);
        ASSERT_VALUES(y, dtype, NAN, INFINITY, 1e30);
        ASSERT_VALUES(gradient_of(y, x), dtype, NAN, NAN, 1);
        ASSERT_VALUES(gradient_by_expression(y, x), dtype, NAN, NAN, 1);
    }
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(
                                               minus_infinity_gives_nan_in_either_dtype),
    cmocka_unit_test(far_from_zero), cmocka_unit_test(known_values_and_nan) };

const op_case gelu_case = {
    .name = "gelu",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(3, 4) }, .p = { 1 } },
        { .in = { IN(1) }, .p = { 0 } },
        { .in = { IN(2, 1, 3) }, .p = { 1 } },
        { .in = { IN(0, 3) }, .p = { 0 } },
        { .in = { IN_0 }, .p = { 1 } },
        { .in = { IN(37) }, .p = { 0 } },
        { .in = { IN(5, 7) }, .p = { 0 } },
        { .in = { IN_T(5, 7) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3) }, .p = { 2 }, .status = ADZ_ERR_ARGUMENT, .says = "ADZ_GELU_TANH" },
    },
    .vectors = { "gelu" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
