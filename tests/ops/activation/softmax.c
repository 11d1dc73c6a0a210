#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_softmax(a->in[0], (int)a->p[0]), out);
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

static void infinities_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_softmax(row((float[]){ -INFINITY, 1, 1 }, 3), -1);
    assert_float_equal(at(y, 0), 0, 0);
    assert_float_equal(at(y, 1), 0.5, 1e-7);
    float bad[][3] = { { -INFINITY, -INFINITY, -INFINITY }, { INFINITY, 0, 1 }, { NAN, 0, 1 } };
    for (int k = 0; k < 3; ++k) {
        y = adz_softmax(row(bad[k], 3), -1);
        adz_tensor *columns = adz_softmax(adz_reshape(row(bad[k], 3), ADZ_SHAPE(3, 1)), 0);
        for (int64_t i = 0; i < 3; ++i) {
            assert_true(isnan(at(y, i)));
            assert_true(isnan(adz_tensor_at(columns, (int64_t[]){ i, 0 })));
        }
    }
    adz_scope_close(scope);
}

/* Long rows, in rows and in columns: probabilities sum to 1 far below f32's own rounding. */
static void long_lanes_sum_to_one(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_reshape(adz_arange(0, 200000, 1, ADZ_F32), ADZ_SHAPE(100000, 2));
    x = adz_mul_number(x, 1e-5);
    for (int dim = 0; dim < 2; ++dim) {
        adz_tensor *lanes = dim == 0 ? x : adz_contiguous(adz_transpose(x, 0, 1));
        adz_tensor *sums = adz_sum(adz_softmax(lanes, dim), ADZ_DIMS(dim), ADZ_DROPDIM);
        assert_float_equal(adz_tensor_at(sums, (int64_t[]){ 0 }), 1, 2e-7);
        assert_float_equal(adz_tensor_at(sums, (int64_t[]){ 1 }), 1, 2e-7);
    }
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(huge_logits_stay_finite),
    cmocka_unit_test(infinities_and_nan), cmocka_unit_test(long_lanes_sum_to_one) };

const op_case softmax_case = {
    .name = "softmax",
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
    .vectors = { "softmax" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
