/* The tests that argmax and argmin have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_ARGMAX_ARGMIN_H
#define ADZE_TESTS_OPS_ARGMAX_ARGMIN_H

#include <math.h>

#include "ops/case.h"

typedef struct extreme {
    adz_tensor *(*position)(adz_tensor *, adz_dims, bool);
    int sign; /* 1 for the largest element, -1 for the smallest */
} extreme;

static const extreme tested;

/* p[0] = keepdim, p[1 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.position(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    config_dims(config, "dim", a, 1);
    return true;
}

static void the_first_of_equals_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double s = tested.sign, values[] = { 1, 3 * s, 3 * s, NAN, 9 * s, NAN };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *y = tested.position(x, ADZ_DIMS(1), ADZ_DROPDIM);
    assert_true(adz_tensor_at(y, (int64_t[]){ 0 }) == 1);
    assert_true(adz_tensor_at(y, (int64_t[]){ 1 }) == 0);
    assert_int_equal(adz_item_i64(tested.position(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), 3);
    adz_scope_close(scope);
}

/* Without a dimension the index counts elements in row-major order of the shape, whatever the order
 * in memory is. */
static void all_of_a_transposed(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(3, 400), ADZ_I32);
    *((int32_t *)adz_tensor_data(x) + 2 * 400 + 300) = tested.sign;
    adz_tensor *y = tested.position(adz_transpose(x, 0, 1), ADZ_ALL_DIMS, ADZ_KEEPDIM);
    assert_int_equal(adz_item_i64(y), 300 * 3 + 2);
    assert_int_equal(adz_tensor_rank(y), 2);
    adz_scope_close(scope);
}

/* A reduction joins chunks of 512 elements. */
static void the_first_nan_of_several_chunks(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *at = adz_arange(0, 2000, 1, ADZ_F32);
    adz_tensor *x = adz_masked_fill(at, adz_ge_number(adz_remainder_number(at, 700), 650), NAN);
    assert_int_equal(adz_item_i64(tested.position(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), 650);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_first_of_equals_and_nan),
    cmocka_unit_test(the_first_nan_of_several_chunks), cmocka_unit_test(all_of_a_transposed) };

/* clang-format off */
#define ARGMAX_ARGMIN_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 0, -1 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 3, 4, 2) }, .p = { 1, 1, 1 } }, \
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { 0, 1, 0 } }, \
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { 1, -1 } }, \
        { .in = { IN_OF(FILL_DISTINCT, 2, 1, 3) }, .p = { 0, 1, 1 } }, \
        { .in = { IN_0 }, .p = { 0, -1 } }, \
        { .in = { IN(0, 2) }, .p = { 0, 1, 1 } }, \
        { .in = { IN_TYPED(ADZ_U8, 5, 7) }, .p = { 0, 1, 1 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" }, \
        { .in = { IN(3, 4) }, .p = { 0, 2, 0, 1 }, .status = ADZ_ERR_DIM, .says = "ADZ_ALL_DIMS" }, \
        { .in = { IN(3, 0) }, .p = { 0, -1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 0]" }, \
        { .in = { IN_TYPED(ADZ_BOOL, 3) }, .p = { 0, -1 }, .status = ADZ_ERR_DTYPE, .says = "bool" }, \
    }, \
    .not_differentiable = true, \
    .vectors = { op }, \
    .inputs = { "x" }, \
    .config = config, \
    FACTS(facts)
/* clang-format on */

#endif
