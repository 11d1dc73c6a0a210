#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_ldexp;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double as[] = { 1, 2, -3 }, bs[] = { 2, -1, 10 }, ys[] = { 4.0, 1.0, -3072.0 },
                 das[] = { 4.0, 0.5, 1024.0 },
                 dbs[] = { 2.772588722239781, 0.6931471805599453, -2129.348138680152 };
    assert_two(sizeof as / sizeof *as, as, bs, ys, das, dbs);
}

FACT(dtypes)
{
    ASSERT_VALUES(adz_ldexp(VALUES(ADZ_I64, 1, 2), VALUES(ADZ_I64, 3, 4)), ADZ_F32, 8, 32);
    ASSERT_VALUES(adz_ldexp(VALUES(ADZ_F64, 3), VALUES(ADZ_I64, 1000)), ADZ_F64, 0x3p1000);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(dtypes),
};

const op_case ldexp_case = { BINARY_CASE("ldexp", FILL_NORMAL, FILL_NORMAL) };
