#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_hardsigmoid;

/* PyTorch 2.15 computed the expected values, except for the slope, which is 1 / 6 rounded to f32
 * there. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -4, -3, -1, 0, 2, 3, 5, (double)INFINITY,
        (double)NAN },
                 ys[] = { 0.0, 0.0, 0.0, 0.3333333333333333, 0.5, 0.8333333333333334, 1.0, 1.0, 1.0,
                     (double)NAN },
                 gs[] = { 0.0, 0.0, 0.0, 0.16666666666666666, 0.16666666666666666,
                     0.16666666666666666, 0.0, 0.0, 0.0, 0.0 };
    assert_function(call, (op_args){ .p = { 0 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
};

const op_case hardsigmoid_case = { UNARY_CASE("hardsigmoid", FILL_AWAY), .first_order_only = true };
