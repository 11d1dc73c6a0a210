#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_fmax;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double as[] = { 1, 2, 3, (double)NAN, 1, (double)NAN },
                 bs[] = { 2, 2, 1, 1, (double)NAN, (double)NAN },
                 ys[] = { 2.0, 2.0, 3.0, 1.0, 1.0, (double)NAN },
                 das[] = { 0.0, 0.5, 1.0, 0.0, 1.0, 1.0 }, dbs[] = { 1.0, 0.5, 0.0, 1.0, 0.0, 0.0 };
    assert_two(sizeof as / sizeof *as, as, bs, ys, das, dbs);
}

FACT(dtypes)
{
    ASSERT_VALUES(adz_fmax(VALUES(ADZ_I32, 3, -4), VALUES(ADZ_I64, 2, 5)), ADZ_I64, 3, 5);
    ASSERT_VALUES(adz_fmax(VALUES(ADZ_BOOL, 1, 0), VALUES(ADZ_BOOL, 0, 0)), ADZ_BOOL, 1, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(dtypes),
};

const op_case fmax_case = { BINARY_CASE("fmax", FILL_NORMAL, FILL_NORMAL),
    .first_order_only = true };
