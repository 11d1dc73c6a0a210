#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_erfinv;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -1, -0.99, -0.5, 0, 1e-10, 0.25, 0.75, 1, 1.5, (double)NAN },
                 ys[] = { -(double)INFINITY, -1.8213863677184494, -0.4769362762044699, 0.0,
                     8.862269254527581e-11, 0.2253120550121781, 0.8134198475976185,
                     (double)INFINITY, (double)NAN, (double)NAN },
                 gs[] = { (double)INFINITY, 24.45087647374641, 1.1125848189719496,
                     0.8862269254527579, 0.8862269254527579, 0.9323782346059725, 1.7174997693674523,
                     (double)INFINITY, (double)NAN, (double)NAN };
    assert_function(call, (op_args){ .p = { 0 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(it_undoes_erf_at_all_scales)
{
    adz_tensor *y = VALUES(ADZ_F64, 1e-300, -1e-20, 0.01, -0.7, 2.5, -5);
    ASSERT_VALUES(adz_erfinv(VALUES(ADZ_I64, 0, 1)), ADZ_F32, 0, (double)INFINITY);
    assert_true(adz_allclose(adz_erfinv(adz_erf(y)), y, 1e-4, 0, false));
    adz_tensor *near = adz_erfinv(VALUES(ADZ_F64, 1 - 0x1p-53, -0x1p-1074));
    assert_true(fabs(adz_tensor_at(near, &(int64_t){ 0 }) / 5.8635847487551676 - 1) < 4e-16);
    assert_true(adz_tensor_at(near, &(int64_t){ 1 }) == -0x1p-1074);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(it_undoes_erf_at_all_scales),
};

const op_case erfinv_case = { UNARY_CASE("erfinv", FILL_UNIT) };
