#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_rad2deg;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -2, 0, 90, (double)NAN },
                 ys[] = { -(double)INFINITY, -114.59155902616465, 0, 5156.620156177409,
                     (double)NAN },
                 gs[] = { 57.29577951308232, 57.29577951308232, 57.29577951308232,
                     57.29577951308232, 57.29577951308232 };
    assert_function(call, (op_args){ .p = { 0 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(integers)
{
    ASSERT_VALUES(adz_rad2deg(VALUES(ADZ_I64, 4)), ADZ_F32, 4 * (double)(float)57.29577951308232);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(integers),
};

const op_case rad2deg_case = { UNARY_CASE("rad2deg", FILL_NORMAL), .first_order_only = true };
