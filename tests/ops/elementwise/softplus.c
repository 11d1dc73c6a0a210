#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_softplus(a->in[0], a->p[0], a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "beta", 1);
    a->p[1] = config_number(config, "threshold", 20);
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

static adz_tensor *usual(adz_tensor *x)
{
    return adz_softplus(x, 1, 20);
}

static void far_from_zero_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    float values[] = { -3e38f, -50, 0, 21, 3e38f, NAN };
    adz_tensor *y, *g = slope(adz_tensor_from(values, ADZ_SHAPE(6), ADZ_F32), usual, &y);
    assert_true(at(y, 0) == 0 && at(g, 0) == 0);
    assert_true(fabs(at(y, 1) / exp(-50) - 1) < 1e-6 && fabs(at(g, 1) / exp(-50) - 1) < 1e-6);
    assert_true(fabs(at(y, 2) - log(2)) < 1e-7 && at(g, 2) == 0.5);
    assert_true(at(y, 3) == 21 && at(g, 3) == 1); /* above the threshold */
    assert_true(at(y, 4) == (double)values[4] && at(g, 4) == 1);
    assert_true(isnan(at(y, 5)) && isnan(at(g, 5)));
    adz_scope_close(scope);
}

static adz_tensor *steep(adz_tensor *x)
{
    return adz_softplus(x, 2, 1);
}

/* The threshold applies to beta x, so with a larger beta softplus becomes linear at a smaller x. */
static void a_steep_one_turns_straight_earlier(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 0.75, 0.25 };
    adz_tensor *y, *g = slope(adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F64), steep, &y);
    assert_true(at(y, 0) == 0.75 && at(g, 0) == 1);
    assert_true(at(y, 1) > 0.25 && at(g, 1) < 0.75);
    adz_scope_close(scope);
}

/* Exactly at the threshold the gradient is that of the curve and its derivative that of the line.
 */
FACT(the_second_derivative_at_the_threshold_is_0)
{
    adz_tensor *x = LEAF(0, 0.5, 1), *none = LEAF(0);
    adz_tensor *g = gradient_by_expression(adz_softplus(x, 2, 1), x);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 0.5, 0, 0);
    g = gradient_by_expression(adz_softplus(none, 1, 0), none);
    ASSERT_VALUES(g, ADZ_F64, 0.5);
    ASSERT_VALUES(gradient_of(g, none), ADZ_F64, 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(
                                               the_second_derivative_at_the_threshold_is_0),
    cmocka_unit_test(far_from_zero_and_nan), cmocka_unit_test(a_steep_one_turns_straight_earlier) };

const op_case softplus_case = {
    .name = "softplus",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1, 20 } },
        { .in = { IN_T(3, 4) }, .p = { 0.5, 20 } },
        { .in = { IN(1) }, .p = { 3, 20 } },
        { .in = { IN(2, 1, 3) }, .p = { -2, 20 } },
        { .in = { IN(0, 3) }, .p = { 1, 20 } },
        { .in = { IN_0 }, .p = { 0.5, 20 } },
        { .in = { IN(37) }, .p = { 3, 20 } },
        { .in = { IN_OF(FILL_AWAY, 5, 7) }, .p = { 2, 0 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 1, 20 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1, 20 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3) }, .p = { 0, 20 }, .status = ADZ_ERR_ARGUMENT, .says = "beta" },
        { .in = { IN(3) }, .p = { NAN, 20 }, .status = ADZ_ERR_ARGUMENT, .says = "beta" },
    },
    .vectors = { "softplus" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
