#include "ops/std_var.h"

static const spread tested = { adz_std, .of_digits = 2.8722813f }; /* the root of 8.25 */

static void no_spread_has_no_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F64), true);
    assert_int_equal(adz_backward(adz_std(x, ADZ_ALL_DIMS, 1, false)), ADZ_OK);
    assert_true(adz_equal(adz_tensor_grad(x), adz_zeros(ADZ_SHAPE(3), ADZ_F64)));
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { SHARED_FACTS,
    cmocka_unit_test(no_spread_has_no_gradient) };

const op_case std_case = { STD_VAR_CASE("std"), .needs_distinct = true };
