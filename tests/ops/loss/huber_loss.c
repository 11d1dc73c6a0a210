#define WIDTH "delta"
#include "ops/huber_smooth_l1.h"

static rounded_loss *const tested = adz_huber_loss;

FACT(kinks_and_extremes)
{
    adz_tensor *x = LEAF(-3, -2, 0, 1, INFINITY, NAN);
    adz_tensor *l = tested(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 2);
    ASSERT_VALUES(l, ADZ_F64, 4, 2, 0, 0.5, INFINITY, NAN);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -2, -2, 0, 1, 2, NAN);
}

/* The gradient comes from an expression of operators, which can be differentiated again. */
FACT(the_second_derivative_on_the_border_is_0)
{
    adz_tensor *x = LEAF(-2, -1.5, 0, 2, 3);
    adz_tensor *g = gradient_by_expression(tested(x, VALUES(ADZ_F64, 0), ADZ_REDUCE_NONE, 2), x);
    ASSERT_VALUES(g, ADZ_F64, -2, -1.5, 0, 2, 2);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 0, 1, 1, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_second_derivative_on_the_border_is_0),
    cmocka_unit_test(a_scalar_target_promotes_as_any_other),
    cmocka_unit_test(kinks_and_extremes),
};

const op_case huber_loss_case = { ROUNDED_LOSS_CASE("huber_loss") };
