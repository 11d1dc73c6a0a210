#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_sinc;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -2.5, -0.75, 0, 0.125, 0.5, 1.25, 20.75 },
                 ys[] = { 0.12732395447351627, 0.3001054387190354, 1.0, 0.9744953584044327,
                     0.6366197723675814, -0.18006326323142122, 0.010847184532013285 },
                 gs[] = { 0.05092958178940638, 1.3429496265407772, 0.0, -0.4049266071451679,
                     -1.2732395447351625, -0.4216348143641011, -0.034600191118966915 };
    assert_function(call, (op_args){ .p = { 0 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

/* PyTorch gives sin(pi x) of the rounded product instead of 0. */
FACT(it_is_0_at_whole_numbers)
{
    const double inf = (double)INFINITY;
    ASSERT_VALUES(adz_sinc(VALUES(ADZ_F64, 3, -4, 1e9, 0x1p60, inf, -inf, (double)NAN)), ADZ_F64, 0,
        0, 0, 0, (double)NAN, (double)NAN, (double)NAN);
    ASSERT_VALUES(adz_sinc(VALUES(ADZ_F32, 3, 1e-30, 0)), ADZ_F32, 0, 1, 1);
    ASSERT_VALUES(adz_sinc(VALUES(ADZ_I64, 0, 2)), ADZ_F32, 1, 0);
}

/* Of sin(u) / u with u = pi x, the first derivative is -u^2 / (3 x) and the second one -pi^2 / 3 at
 * 0. */
FACT(derivatives_near_0_keep_their_digits)
{
    const double pi = 3.14159265358979323846;
    adz_tensor *x = LEAF(0, 1e-9, -1e-5), *g = gradient_by_expression(adz_sinc(x), x);
    adz_tensor *second = gradient_of(g, x);
    for (int64_t i = 0; i < 3; ++i) {
        const double at = i == 0 ? 0 : i == 1 ? 1e-9 : -1e-5, slope = -pi * pi * at / 3;
        assert_true(fabs(adz_tensor_at(g, &i) - slope) <= 1e-9 * fabs(slope));
        assert_true(fabs(adz_tensor_at(second, &i) / (-pi * pi / 3) - 1) <= 1e-8);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(it_is_0_at_whole_numbers),
    cmocka_unit_test(derivatives_near_0_keep_their_digits),
};

const op_case sinc_case = { UNARY_CASE("sinc", FILL_NORMAL) };
