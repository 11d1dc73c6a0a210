/* The tests that softmax and log_softmax have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_SOFTMAX_LOG_SOFTMAX_H
#define ADZE_TESTS_OPS_SOFTMAX_LOG_SOFTMAX_H

#include <math.h>

#include "ops/case.h"

/* The operator and its dimension. */
static adz_tensor *(*const tested)(adz_tensor *, int);

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested(a->in[0], (int)a->p[0]), out);
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

/* A row or a column whose largest element is not finite has no probabilities. */
static void slices_without_a_finite_maximum_are_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    float bad[][3] = { { -INFINITY, -INFINITY, -INFINITY }, { INFINITY, 0, 1 }, { NAN, 0, 1 } };
    for (int k = 0; k < 3; ++k) {
        adz_tensor *y = tested(row(bad[k], 3), -1);
        adz_tensor *columns = tested(adz_reshape(row(bad[k], 3), ADZ_SHAPE(3, 1)), 0);
        for (int64_t i = 0; i < 3; ++i) {
            assert_true(isnan(at(y, i)));
            assert_true(isnan(adz_tensor_at(columns, (int64_t[]){ i, 0 })));
        }
    }
    adz_scope_close(scope);
}

/* clang-format off */
#define SOFTMAX_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(5) }, .p = { 0 } }, \
        { .in = { IN(3, 5) }, .p = { -1 } }, \
        { .in = { IN_T(3, 5) }, .p = { 1 } }, \
        { .in = { IN(2, 3, 4) }, .p = { 1 } }, \
        { .in = { IN(4, 2, 3) }, .p = { 0 } }, \
        { .in = { IN(4, 1) }, .p = { 1 } }, \
        { .in = { IN(4, 0) }, .p = { 1 } }, \
        { .in = { IN(0, 4) }, .p = { 1 } }, \
        { .in = { IN_0 }, .p = { 0 } }, \
        { .in = { IN(2, 37) }, .p = { 1 } }, \
        { .in = { IN(3, 70) }, .p = { 0 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 5) }, .p = { 2 }, .status = ADZ_ERR_DIM, .says = "[3, 5]" }, \
        { .in = { IN(3, 5) }, .p = { -3 }, .status = ADZ_ERR_DIM }, \
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
    }, \
    .vectors = { (op) }, \
    .inputs = { "x" }, \
    .config = config
/* clang-format on */

#endif
