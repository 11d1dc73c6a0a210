#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_logit(a->in[0], a->p[0]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { 0, 0.25, 0.5, 0.875, 1, -0.5, 1.5, (double)NAN },
                 ys[] = { -(double)INFINITY, -1.0986122886681098, 0.0, 1.9459101490553132,
                     (double)INFINITY, (double)NAN, (double)NAN, (double)NAN },
                 gs[] = { (double)INFINITY, 5.333333333333333, 4.0, 9.142857142857142,
                     (double)INFINITY, (double)NAN, (double)NAN, (double)NAN };
    assert_function(call, (op_args){ .p = { -1 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(values_with_limits)
{
    const double xs[] = { 0, 0.125, 0.25, 0.875, 1, -0.5, (double)NAN },
                 ys[] = { -1.9459101490553135, -1.9459101490553135, -1.0986122886681098,
                     1.9459101490553132, 1.9459101490553132, -1.9459101490553135, (double)NAN },
                 gs[] = { 0.0, 9.142857142857142, 5.333333333333333, 9.142857142857142, 0.0, 0.0,
                     (double)NAN };
    assert_function(call, (op_args){ .p = { 0.125 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(it_undoes_the_sigmoid)
{
    adz_tensor *x = VALUES(ADZ_F64, -3, 0.25, 8);
    assert_true(adz_allclose(adz_logit(adz_sigmoid(x), -1), x, 1e-9, 1e-9, false));
    ASSERT_VALUES(
        adz_logit(VALUES(ADZ_I64, 0, 1), -1), ADZ_F32, -(double)INFINITY, (double)INFINITY);
}

FACT(second_derivatives_beyond_the_limits_are_0)
{
    adz_tensor *x = LEAF(0, 0.5, 2);
    adz_tensor *g = gradient_by_expression(adz_logit(x, 0.25), x);
    ASSERT_VALUES(g, ADZ_F64, 0, 4, 0);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(values_with_limits),
    cmocka_unit_test(it_undoes_the_sigmoid),
    cmocka_unit_test(second_derivatives_beyond_the_limits_are_0),
};

const op_case logit_case = {
    .name = "logit",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_UNIT, 3, 4) }, .p = { -1 } },
        { .in = { IN_T_OF(FILL_UNIT, 3, 4) }, .p = { 0.01 } },
        { .in = { IN_OF(FILL_UNIT, 2, 1, 3) }, .p = { -1 } },
        { .in = { IN_OF(FILL_UNIT, 0, 3) }, .p = { 0.01 } },
        { .in = { IN_0_OF(FILL_UNIT) }, .p = { -1 } },
        { .in = { IN_OF(FILL_UNIT, 37) }, .p = { 0.01 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN(3) }, .p = { 0.6 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is 0.6" },
        { .in = { IN(3) }, .p = { NAN }, .status = ADZ_ERR_ARGUMENT, .says = "at most 0.5" },
    },
    .inputs = { "x" },
    FACTS(facts),
};
