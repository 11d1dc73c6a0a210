#include "ops/softmax_log_softmax.h"

static adz_tensor *(*const tested)(adz_tensor *, int) = adz_log_softmax;

static void huge_logits_keep_their_differences(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_log_softmax(row((float[]){ 1e8f, 1e8f + 8, -1e8f }, 3), 1);
    assert_float_equal(at(y, 0), (float)(-8 - log1p(exp(-8))), 2e-6);
    assert_float_equal(at(y, 1), (float)-log1p(exp(-8)), 1e-7);
    assert_float_equal(at(y, 2), -2e8 - 8, 1);
    y = adz_log_softmax(row((float[]){ 200, 0, 0 }, 3), 1);
    assert_float_equal(at(y, 0), 0, 0);
    assert_float_equal(at(y, 1), -200, 0);
    adz_scope_close(scope);
}

static void an_infinite_logit_has_no_weight(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = row((float[]){ -INFINITY, 1, 1 }, 3);
    adz_tensor *y = adz_log_softmax(adz_requires_grad_(x, true), -1);
    assert_true(at(y, 0) == -(double)INFINITY);
    assert_float_equal(at(y, 1), (float)-log(2), 1e-7);
    adz_tensor *last = adz_slice(y, 1, 1, 3, 1);
    assert_int_equal(adz_backward(adz_sum(last, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_float_equal(at(adz_tensor_grad(x), 0), 0, 0);
    assert_float_equal(at(adz_tensor_grad(x), 1), 0, 1e-6);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(huge_logits_keep_their_differences),
    cmocka_unit_test(an_infinite_logit_has_no_weight),
    cmocka_unit_test(slices_without_a_finite_maximum_are_nan) };

const op_case log_softmax_case = { SOFTMAX_CASE("log_softmax"), FACTS(facts) };
