#include "ops/reduction.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_dims, bool) = adz_logsumexp;

static double of(const double *values, int64_t n)
{
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64);
    return adz_item(adz_logsumexp(x, ADZ_ALL_DIMS, ADZ_DROPDIM));
}

static void extremes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    assert_true(fabs(of((double[]){ 1e300, 1e300, -1e300 }, 3) - 1e300) < 1e285);
    assert_true(fabs(of((double[]){ -1e4, -1e4 }, 2) - (-1e4 + log(2))) < 1e-11);
    assert_true(of((double[]){ -INFINITY, -INFINITY }, 2) == -(double)INFINITY);
    assert_true(of((double[]){ -INFINITY, 3 }, 2) == 3);
    assert_true(of((double[]){ INFINITY, 3, -INFINITY }, 3) == (double)INFINITY);
    assert_true(isnan(of((double[]){ NAN, 3 }, 2)));
    assert_true(isnan(of((double[]){ NAN, -INFINITY }, 2)));
    assert_true(isnan(of((double[]){ NAN, INFINITY }, 2)));
    assert_true(of(NULL, 0) == -(double)INFINITY);
    adz_tensor *y = adz_logsumexp(adz_full(ADZ_SHAPE(4), 3, ADZ_U8), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_tensor_dtype(y), ADZ_F32); /* integers count as f32 */
    assert_true(fabs(adz_item(y) - 3 - log(4)) < 1e-6);
    adz_scope_close(scope);
}

/* The largest element may come in any chunk and in any block. */
static void a_maximum_that_rises(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int64_t n = 200000;
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, n), ADZ_F32);
    float *values = adz_tensor_data_f32(x);
    for (int64_t i = 0; i < n; ++i) {
        values[i] = (float)i * 0.01f;
        values[n + i] = (float)(n - 1 - i) * 0.01f;
    }
    double expected = (double)values[n - 1] - log1p(-exp(-0.01));
    adz_tensor *y = adz_logsumexp(x, ADZ_DIMS(1), ADZ_DROPDIM);
    assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 0 }) - expected) < 2e-4);
    assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 1 }) - expected) < 2e-4);
    values[777] = values[n + 777] = INFINITY;
    y = adz_logsumexp(x, ADZ_DIMS(1), ADZ_DROPDIM);
    assert_true(isinf(adz_tensor_at(y, (int64_t[]){ 0 })));
    assert_true(isinf(adz_tensor_at(y, (int64_t[]){ 1 })));
    adz_scope_close(scope);
}

static void excluded_entries_get_no_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { -INFINITY, 1, 1 };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(3), ADZ_F64), true);
    assert_int_equal(adz_backward(adz_logsumexp(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_true(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 0 }) == 0);
    assert_true(fabs(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 1 }) - 0.5) < 1e-15);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(extremes),
    cmocka_unit_test(a_maximum_that_rises), cmocka_unit_test(excluded_entries_get_no_gradient) };

const op_case logsumexp_case = {
    .name = "logsumexp",
    .call = call,
    .samples = {
        REDUCTION_SAMPLES,
        { .in = { IN(0, 2) }, .p = { 0, 1, 1 } },
        { .in = { IN(2, 300) }, .p = { 0, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0, -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "logsumexp" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
