#include "ops/softmax_log_softmax.h"

static adz_tensor *(*const tested)(adz_tensor *, int) = adz_softmax;

static void huge_logits_stay_finite(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_softmax(row((float[]){ 3e38f, 3e38f, -3e38f }, 3), 1);
    assert_float_equal(at(y, 0), 0.5, 1e-7);
    assert_float_equal(at(y, 1), 0.5, 1e-7);
    assert_float_equal(at(y, 2), 0, 0);
    adz_scope_close(scope);
}

static void an_infinite_logit_has_no_weight(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_softmax(row((float[]){ -INFINITY, 1, 1 }, 3), -1);
    assert_float_equal(at(y, 0), 0, 0);
    assert_float_equal(at(y, 1), 0.5, 1e-7);
    adz_scope_close(scope);
}

/* In long slices, as rows and as columns, the probabilities sum to 1 with an error that is smaller
 * than that of a sum in f32. */
static void long_slices_sum_to_one(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_reshape(adz_arange(0, 200000, 1, ADZ_F32), ADZ_SHAPE(100000, 2));
    x = adz_mul_number(x, 1e-5);
    for (int dim = 0; dim < 2; ++dim) {
        adz_tensor *slices = dim == 0 ? x : adz_contiguous(adz_transpose(x, 0, 1));
        adz_tensor *sums = adz_sum(adz_softmax(slices, dim), ADZ_DIMS(dim), ADZ_DROPDIM);
        assert_float_equal(adz_tensor_at(sums, (int64_t[]){ 0 }), 1, 2e-7);
        assert_float_equal(adz_tensor_at(sums, (int64_t[]){ 1 }), 1, 2e-7);
    }
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(huge_logits_stay_finite),
    cmocka_unit_test(an_infinite_logit_has_no_weight),
    cmocka_unit_test(slices_without_a_finite_maximum_are_nan),
    cmocka_unit_test(long_slices_sum_to_one) };

const op_case softmax_case = { SOFTMAX_CASE("softmax"), FACTS(facts) };
