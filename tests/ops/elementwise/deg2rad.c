#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_deg2rad;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -2, 0, 90, (double)NAN },
                 ys[] = { -(double)INFINITY, -0.03490658503988659, 0, 1.5707963267948966,
                     (double)NAN },
                 gs[] = { 0.017453292519943295, 0.017453292519943295, 0.017453292519943295,
                     0.017453292519943295, 0.017453292519943295 };
    assert_function(call, (op_args){ .p = { 0 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(integers)
{
    ASSERT_VALUES(
        adz_deg2rad(VALUES(ADZ_I64, 4)), ADZ_F32, 4 * (double)(float)0.017453292519943295);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(integers),
};

const op_case deg2rad_case = { UNARY_CASE("deg2rad", FILL_NORMAL), .first_order_only = true };
