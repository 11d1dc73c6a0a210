#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_logaddexp2;

/* PyTorch 2.15 computed the expected values, except for the gradients
 * between equal infinities, which are NaN there. */
FACT(values_and_gradients)
{
    const double as[] = { 1, 3, (double)INFINITY, -(double)INFINITY, (double)INFINITY, 1, 0, 1000,
        2 },
                 bs[] = { 1, 1, (double)INFINITY, -(double)INFINITY, -(double)INFINITY, (double)NAN,
                     -1000, 999, -(double)INFINITY },
                 ys[] = { 2.0, 3.321928094887362, (double)INFINITY, -(double)INFINITY,
                     (double)INFINITY, (double)NAN, 0, 1000.5849625007212, 2.0 },
                 das[] = { 0.5, 0.8, 0.5, 0.5, 1.0, (double)NAN, 1.0, 0.6666666666666666, 1.0 },
                 dbs[] = { 0.5, 0.2, 0.5, 0.5, 0.0, (double)NAN, 0, 0.3333333333333333, 0.0 };
    assert_two(sizeof as / sizeof *as, as, bs, ys, das, dbs);
}

FACT(large_numbers_keep_their_digits)
{
    ASSERT_VALUES(adz_logaddexp2(VALUES(ADZ_F32, 8000000, 1e30), VALUES(ADZ_F32, 8000000, 1e30)),
        ADZ_F32, 8000001, 1e30);
    ASSERT_VALUES(adz_logaddexp2(VALUES(ADZ_I64, 3), VALUES(ADZ_I64, 3)), ADZ_F32, 4);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(large_numbers_keep_their_digits),
};

const op_case logaddexp2_case = { BINARY_CASE("logaddexp2", FILL_NORMAL, FILL_NORMAL) };
