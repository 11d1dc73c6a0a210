/* The tests that amax and amin have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_AMAX_AMIN_H
#define ADZE_TESTS_OPS_AMAX_AMIN_H

#include <math.h>

#include "ops/case.h"

typedef struct extreme {
    adz_tensor *(*over)(adz_tensor *, adz_dims, bool);
    int sign; /* 1 for the largest element, -1 for the smallest */
} extreme;

static const extreme tested;

/* p[0] = keepdim, p[1 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.over(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    config_dims(config, "dim", a, 1);
    return true;
}

static void ties_share_and_nan_spreads(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 2, 2, 2 - tested.sign, 2, NAN, 1, 1, 1 };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(2, 4), ADZ_F64), true);
    adz_tensor *y = tested.over(x, ADZ_DIMS(1), ADZ_DROPDIM);
    assert_true(adz_tensor_at(y, (int64_t[]){ 0 }) == 2);
    assert_true(isnan(adz_tensor_at(y, (int64_t[]){ 1 })));
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    adz_tensor *g = adz_tensor_grad(x);
    assert_float_equal(adz_tensor_at(g, (int64_t[]){ 0, 1 }), 1.0f / 3, 1e-7);
    assert_true(adz_tensor_at(g, (int64_t[]){ 0, 2 }) == 0);
    assert_true(isnan(adz_tensor_at(g, (int64_t[]){ 1, 1 }))); /* as in PyTorch: 0 / 0 */
    adz_scope_close(scope);
}

static void integers_over_two_dimensions(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_reshape(adz_arange(-12, 12, 1, ADZ_I32), ADZ_SHAPE(2, 3, 4));
    adz_tensor *y = tested.over(x, ADZ_DIMS(0, -1), ADZ_KEEPDIM);
    assert_int_equal(adz_tensor_dtype(y), ADZ_I32);
    for (int64_t i = 0; i < 3; ++i) {
        assert_true(adz_tensor_at(y, (int64_t[]){ 0, i, 0 }) ==
                    (double)((tested.sign > 0 ? 3 : -12) + 4 * i));
    }
    adz_scope_close(scope);
}

/* Columns are computed several at a time, row by row. They must give the results of the transposed
 * tensor, whose slices are rows. */
static void columns_are_rows_turned(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 4, 100), ADZ_F32);
    adz_tensor_data_f32(x)[0] = adz_tensor_data_f32(x)[5 * 100 + 7] = NAN;
    adz_tensor_data_f32(x)[11 * 100 + 99] = NAN;
    adz_tensor *from[] = { x, adz_slice(x, 2, 1, 90, 1), adz_slice(x, 1, 1, 4, 2) };
    for (int i = 0; i < 3; ++i) {
        adz_tensor *turned = adz_contiguous(adz_permute(from[i], ADZ_DIMS(2, 0, 1)));
        adz_tensor *y = tested.over(from[i], ADZ_DIMS(0, 1), ADZ_DROPDIM);
        adz_tensor *z = tested.over(turned, ADZ_DIMS(1, 2), ADZ_DROPDIM);
        assert_true(adz_allclose(y, z, 0, 0, true));
        turned = adz_contiguous(adz_permute(from[i], ADZ_DIMS(1, 2, 0)));
        y = tested.over(from[i], ADZ_DIMS(0), ADZ_DROPDIM);
        assert_true(adz_allclose(y, tested.over(turned, ADZ_DIMS(2), ADZ_DROPDIM), 0, 0, true));
    }
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(ties_share_and_nan_spreads),
    cmocka_unit_test(integers_over_two_dimensions), cmocka_unit_test(columns_are_rows_turned) };

/* clang-format off */
#define AMAX_AMIN_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 0, -1 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 1, 2, 0, 2 } }, \
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { 0, 1, 0 } }, \
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { 1, 1, -1 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 2, 1, 3) }, .p = { 0, 1, 1 } }, \
        { .in = { IN_0 }, .p = { 0, -1 } }, \
        { .in = { IN(0, 2) }, .p = { 0, 1, 1 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 5, 70) }, .p = { 0, 1, 0 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" }, \
        { .in = { IN(3, 4) }, .p = { 0, 2, 0, 0 }, .status = ADZ_ERR_DIM, .says = "twice" }, \
        { .in = { IN(3, 0) }, .p = { 0, -1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 0]" }, \
    }, \
    .needs_distinct = true, \
    .vectors = { op }, \
    .inputs = { "x" }, \
    .config = config, \
    FACTS(facts)
/* clang-format on */

#endif
