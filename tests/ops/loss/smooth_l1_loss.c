#define WIDTH "beta"
#include "ops/huber_smooth_l1.h"

static rounded_loss *const tested = adz_smooth_l1_loss;

FACT(kinks_and_extremes)
{
    adz_tensor *x = LEAF(-2, -0.5, 0, 0.25, 0.5, INFINITY, NAN);
    adz_tensor *l = tested(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 0.5);
    ASSERT_VALUES(l, ADZ_F64, 1.75, 0.25, 0, 0.0625, 0.25, INFINITY, NAN);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -1, -1, 0, 0.5, 1, 1, NAN);
}

FACT(beta_zero_is_the_absolute_error)
{
    adz_tensor *x = LEAF(-2, 0, 3);
    adz_tensor *l = tested(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 0);
    ASSERT_VALUES(l, ADZ_F64, 2, 0, 3);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -1, 0, 1);
}

/* The gradient comes from an expression of operators, which can be differentiated again. */
FACT(the_second_derivative_on_the_border_is_0)
{
    adz_tensor *x = LEAF(-2, -1.5, 0, 2, 3);
    adz_tensor *g = gradient_by_expression(tested(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 2), x);
    ASSERT_VALUES(g, ADZ_F64, -1, -0.75, 0, 1, 1);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 0, 0.5, 0.5, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_second_derivative_on_the_border_is_0),
    cmocka_unit_test(a_scalar_target_promotes_as_any_other),
    cmocka_unit_test(kinks_and_extremes),
    cmocka_unit_test(beta_zero_is_the_absolute_error),
};

const op_case smooth_l1_loss_case = { ROUNDED_LOSS_CASE("smooth_l1_loss") };
