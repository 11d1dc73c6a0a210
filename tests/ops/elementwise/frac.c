#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_frac;

FACT(special_values)
{
    ASSERT_VALUES(adz_frac(VALUES(ADZ_F32, 1.5, -1.5, -0.25, (double)INFINITY, (double)NAN)),
        ADZ_F32, 0.5, -0.5, -0.25, (double)NAN, (double)NAN);
    ASSERT_VALUES(adz_frac(VALUES(ADZ_F64, 1.5, -1.5, -0.25, (double)INFINITY, (double)NAN)),
        ADZ_F64, 0.5, -0.5, -0.25, (double)NAN, (double)NAN);
}

FACT(integers_are_refused)
{
    ASSERT_REFUSED(adz_frac(VALUES(ADZ_I64, 1)), ADZ_ERR_DTYPE, "has no fraction");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(integers_are_refused),
};

const op_case frac_case = { UNARY_CASE("frac", FILL_NORMAL), .first_order_only = true };
