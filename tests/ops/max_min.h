/* The tests that max and min have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_MAX_MIN_H
#define ADZE_TESTS_OPS_MAX_MIN_H

#include <math.h>

#include "ops/case.h"

typedef struct extreme {
    adz_tensor *(*of_all)(adz_tensor *);
    adz_tensor *(*along)(adz_tensor *, int, bool, adz_tensor **);
    int sign; /* 1 for the largest element, -1 for the smallest; facts multiply their numbers by it
               */
} extreme;

static const extreme tested;

/* p[0] = 1 for one dimension, p[1] = that, p[2] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    if (a->p[0] == 0) {
        return case_one(tested.of_all(a->in[0]), out);
    }
    out[0] = tested.along(a->in[0], (int)a->p[1], a->p[2] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_has(config, "dim");
    a->p[1] = config_number(config, "dim", 0);
    a->p[2] = config_flag(config, "keepdim", false);
    return true;
}

/* A leaf with the numbers, which are multiplied by -1 for a minimum. */
static adz_tensor *row(const double *values, int64_t n)
{
    adz_tensor *x = adz_mul_number(adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64), tested.sign);
    return adz_requires_grad_(x, true);
}

static double at(adz_tensor *y, int64_t i)
{
    return adz_tensor_at(y, (int64_t[]){ i });
}

static void nan_wins_and_takes_the_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 1, NAN, INFINITY, NAN };
    adz_tensor *x = row(values, 4), *y = tested.of_all(x), *positions = NULL;
    assert_true(isnan(adz_item(y)));
    assert_int_equal(adz_backward(y), ADZ_OK);
    for (int64_t i = 0; i < 4; ++i) {
        assert_true(at(adz_tensor_grad(x), i) == (i % 2 ? 0.5 : 0));
    }
    assert_true(isnan(adz_item(tested.along(x, 0, ADZ_DROPDIM, &positions))));
    assert_int_equal(adz_item_i64(positions), 1);
    adz_scope_close(scope);
}

static void ties(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 2, 2, 1, 2 };
    adz_tensor *x = row(values, 4);
    assert_int_equal(adz_backward(tested.along(x, 0, ADZ_DROPDIM, NULL)), ADZ_OK);
    assert_true(at(adz_tensor_grad(x), 0) == 1 && at(adz_tensor_grad(x), 1) == 0);
    assert_int_equal(adz_backward(tested.of_all(x)), ADZ_OK);
    assert_float_equal(at(adz_tensor_grad(x), 0), 4.0f / 3, 1e-6);
    assert_float_equal(at(adz_tensor_grad(x), 3), 1.0f / 3, 1e-6);
    adz_scope_close(scope);
}

/* A gradient of infinity reaches the element that was chosen and leaves the others at 0. */
static void an_infinite_gradient_stays_with_one(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 1, 2, 3 };
    adz_tensor *x = row(values, 3), *y = tested.along(x, 0, ADZ_DROPDIM, NULL);
    assert_int_equal(adz_backward(adz_mul_number(y, INFINITY)), ADZ_OK);
    assert_true(isinf(at(adz_tensor_grad(x), 2)));
    assert_true(at(adz_tensor_grad(x), 1) == 0);
    adz_scope_close(scope);
}

static void every_dtype(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int64_t last = tested.sign > 0 ? INT64_MAX : INT64_MIN;
    adz_tensor *x = adz_tensor_from((int64_t[]){ 3, -7, last, 5 }, ADZ_SHAPE(4), ADZ_I64);
    assert_true(adz_item_i64(tested.of_all(x)) == last);
    adz_dtype dtypes[] = { ADZ_F32, ADZ_I32, ADZ_U8, ADZ_BOOL };
    for (int i = 0; i < 4; ++i) {
        adz_tensor *flags = adz_tensor_from((uint8_t[]){ 1, 0, 1 }, ADZ_SHAPE(3), ADZ_U8);
        adz_tensor *positions = NULL,
                   *y = tested.along(adz_to(flags, dtypes[i]), 0, true, &positions);
        assert_int_equal(adz_tensor_dtype(y), dtypes[i]);
        assert_true(adz_item(y) == (tested.sign > 0));
        assert_int_equal(adz_item_i64(positions), tested.sign < 0);
    }
    adz_scope_close(scope);
}

/* Few results of many elements are computed in blocks. Of equal elements the first one counts. */
static void long_rows(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 300000), ADZ_F32), *positions = NULL;
    float *values = adz_tensor_data_f32(x);
    values[123457] = values[250000] = (float)tested.sign;
    values[300000 + 299999] = 2 * (float)tested.sign;
    adz_tensor *y = tested.along(x, 1, ADZ_DROPDIM, &positions);
    assert_true(at(y, 0) == tested.sign && at(y, 1) == 2 * tested.sign);
    assert_true(at(positions, 0) == 123457 && at(positions, 1) == 299999);
    y = tested.along(adz_contiguous(adz_transpose(x, 0, 1)), 0, ADZ_DROPDIM, &positions);
    assert_true(at(y, 0) == tested.sign && at(y, 1) == 2 * tested.sign);
    assert_true(at(positions, 0) == 123457 && at(positions, 1) == 299999);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(nan_wins_and_takes_the_gradient),
    cmocka_unit_test(ties), cmocka_unit_test(an_infinite_gradient_stays_with_one),
    cmocka_unit_test(every_dtype), cmocka_unit_test(long_rows) };

/* clang-format off */
#define MAX_MIN_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 0 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 1, 1, 0 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 1, -1, 1 } }, \
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { 1, 0, 0 } }, \
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { 0 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 3, 1) }, .p = { 1, 1, 0 } }, \
        { .in = { IN_0 }, .p = { 1, 0, 0 } }, \
        { .in = { IN_0 }, .p = { 0 } }, \
        { .in = { IN(0, 4) }, .p = { 1, 1, 0 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 2, 37) }, .p = { 1, 1, 0 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 37, 19) }, .p = { 1, 0, 1 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4) }, .p = { 1, 2, 0 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" }, \
        { .in = { IN(0, 4) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "[0, 4]" }, \
        { .in = { IN(3, 0) }, .p = { 1, 1, 0 }, .status = ADZ_ERR_SHAPE, .says = "no elements" }, \
        { .in = { IN_TYPED(ADZ_BF16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
    }, \
    .needs_distinct = true, \
    .vectors = { op }, \
    .inputs = { "x" }, \
    .outputs = { "values", "indices" }, \
    .config = config, \
    FACTS(facts)
/* clang-format on */

#endif
