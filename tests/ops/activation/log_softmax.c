#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_log_softmax(a->in[0], (int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

static adz_tensor *row(const float *values, int64_t n)
{
    return adz_tensor_from(values, ADZ_SHAPE(1, n), ADZ_F32);
}

static double at(adz_tensor *y, int64_t i)
{
    return adz_tensor_at(y, (int64_t[]){ 0, i });
}

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

static void infinities_and_nan(void **state)
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
    float bad[][3] = { { -INFINITY, -INFINITY, -INFINITY }, { INFINITY, 0, 1 }, { NAN, 0, 1 } };
    for (int k = 0; k < 3; ++k) {
        y = adz_log_softmax(row(bad[k], 3), -1);
        adz_tensor *columns = adz_log_softmax(adz_reshape(row(bad[k], 3), ADZ_SHAPE(3, 1)), 0);
        for (int64_t i = 0; i < 3; ++i) {
            assert_true(isnan(at(y, i)));
            assert_true(isnan(adz_tensor_at(columns, (int64_t[]){ i, 0 })));
        }
    }
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(huge_logits_keep_their_differences),
    cmocka_unit_test(infinities_and_nan) };

const op_case log_softmax_case = {
    .name = "log_softmax",
    .call = call,
    .samples = {
        { .in = { IN(5) }, .p = { 0 } },
        { .in = { IN(3, 5) }, .p = { -1 } },
        { .in = { IN_T(3, 5) }, .p = { 1 } },
        { .in = { IN(2, 3, 4) }, .p = { 1 } },
        { .in = { IN(4, 2, 3) }, .p = { 0 } },
        { .in = { IN(4, 1) }, .p = { 1 } },
        { .in = { IN(4, 0) }, .p = { 1 } },
        { .in = { IN(0, 4) }, .p = { 1 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN(2, 37) }, .p = { 1 } },
        { .in = { IN(3, 70) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 5) }, .p = { 2 }, .status = ADZ_ERR_DIM, .says = "[3, 5]" },
        { .in = { IN(3, 5) }, .p = { -3 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "log_softmax" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
