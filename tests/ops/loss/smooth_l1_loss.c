#include "ops/facts.h"

/* p[0] = reduction, p[1] = beta */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_smooth_l1_loss(a->in[0], a->in[1], (adz_reduction)a->p[0], a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, "beta", 1);
    return true;
}

FACT(kinks_and_extremes)
{
    adz_tensor *x = LEAF(-2, -0.5, 0, 0.25, 0.5, INFINITY, NAN);
    adz_tensor *l = adz_smooth_l1_loss(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 0.5);
    ASSERT_VALUES(l, ADZ_F64, 1.75, 0.25, 0, 0.0625, 0.25, INFINITY, NAN);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -1, -1, 0, 0.5, 1, 1, NAN);
}

FACT(beta_zero_is_the_absolute_error)
{
    adz_tensor *x = LEAF(-2, 0, 3);
    adz_tensor *l = adz_smooth_l1_loss(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 0);
    ASSERT_VALUES(l, ADZ_F64, 2, 0, 3);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -1, 0, 1);
}

/* x and target are expanded to their common shape first, so that a scalar's dtype counts in full.
 */
FACT(a_scalar_target_promotes_as_any_other)
{
    adz_tensor *x = adz_requires_grad_(VALUES(ADZ_F32, 1, 3), true);
    adz_tensor *t = adz_requires_grad_(adz_scalar(0.5, ADZ_F64), true);
    adz_tensor *l = adz_smooth_l1_loss(x, t, ADZ_REDUCE_NONE, 1);
    ASSERT_VALUES(l, ADZ_F64, 0.125, 2);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F32, 0.5, 1);
    assert_int_equal(adz_tensor_dtype(gradient_of(l, t)), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(adz_smooth_l1_loss(x, t, ADZ_REDUCE_MEAN, 1)), ADZ_F64);
}

/* The derivative of the gradient with respect to x; the expression gives the gradient too. */
FACT(the_second_derivative_on_the_border_is_0)
{
    adz_tensor *x = LEAF(-2, -1.5, 0, 2, 3);
    adz_tensor *g =
        gradient_by_expression(adz_smooth_l1_loss(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 2), x);
    ASSERT_VALUES(g, ADZ_F64, -1, -0.75, 0, 1, 1);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 0, 0.5, 0.5, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_second_derivative_on_the_border_is_0),
    cmocka_unit_test(a_scalar_target_promotes_as_any_other),
    cmocka_unit_test(kinks_and_extremes),
    cmocka_unit_test(beta_zero_is_the_absolute_error),
};

const op_case smooth_l1_loss_case = {
    .name = "smooth_l1_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0.7 } },
        { .in = { IN_T(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_SUM, 1 } },
        { .in = { IN(3, 4), IN_T(3, 4) }, .p = { ADZ_REDUCE_NONE, 0.3 } },
        { .in = { IN(3, 1), IN(4) }, .p = { ADZ_REDUCE_MEAN, 2 } },
        { .in = { IN(1), IN(1) }, .p = { ADZ_REDUCE_MEAN, 5 } },
        { .in = { IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM, 1 } },
        { .in = { IN(5, 7), IN_CONST(5, 7) }, .p = { ADZ_REDUCE_MEAN, 1.2 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3) }, .p = { 7, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3), IN(3) }, .p = { ADZ_REDUCE_MEAN, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "beta" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "smooth_l1_loss" },
    .inputs = { "x", "target" },
    .config = config,
    FACTS(facts),
};
