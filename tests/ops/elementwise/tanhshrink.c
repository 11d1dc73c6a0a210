#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_tanhshrink;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -5, -1, 0.0, 0.5, 2.5, (double)INFINITY, 1000, -1000 },
                 ys[] = { -(double)INFINITY, -4.000090795737405, -0.23840584404423515, 0.0,
                     0.03788284273999026, 1.5133857018485697, (double)INFINITY, 999.0, -999.0 },
                 gs[] = { 1.0, 0.9998184167690561, 0.5800256583859739, 0.0, 0.2135522670340726,
                     0.9734077733168395, 1.0, 1.0, 1.0 };
    assert_function(call, (op_args){ .p = { 0 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
};

const op_case tanhshrink_case = { UNARY_CASE("tanhshrink", FILL_NORMAL) };
