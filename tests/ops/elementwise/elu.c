#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_elu(a->in[0], a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "alpha", 1);
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

static adz_tensor *twice(adz_tensor *x)
{
    return adz_elu(x, 2);
}

static void the_kink_far_away_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { -INFINITY, -800, 0, 800, NAN };
    adz_tensor *y, *g = slope(adz_tensor_from(values, ADZ_SHAPE(5), ADZ_F64), twice, &y);
    assert_true(at(y, 0) == -2 && at(y, 1) == -2 && at(y, 2) == 0 && at(y, 3) == 800);
    assert_true(at(g, 0) == 0 && at(g, 1) == 0 && at(g, 2) == 2 && at(g, 3) == 1);
    assert_true(isnan(at(y, 4)));
    adz_scope_close(scope);
}

/* The derivative of the gradient with respect to x; the expression gives the gradient too. */
FACT(the_second_derivative_on_the_border_is_0)
{
    adz_tensor *x = LEAF(-INFINITY, 0, -0.0, 2);
    adz_tensor *g = gradient_by_expression(adz_elu(x, 0.5), x);
    ASSERT_VALUES(g, ADZ_F64, 0, 0.5, 0.5, 1);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 0, 0, 0, 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(
                                               the_second_derivative_on_the_border_is_0),
    cmocka_unit_test(the_kink_far_away_and_nan) };

const op_case elu_case = {
    .name = "elu",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 1 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 0.5 } },
        { .in = { IN_OF(FILL_AWAY, 1) }, .p = { -1.5 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { 1 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 0.5 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { -1.5 } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "elu" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
