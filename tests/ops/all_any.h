/* The tests that all and any have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_ALL_ANY_H
#define ADZE_TESTS_OPS_ALL_ANY_H

#include <math.h>

#include "ops/case.h"

typedef struct truth {
    adz_tensor *(*of)(adz_tensor *, adz_dims, bool);
    int one_of_two, of_none; /* the result for true and false, and for no elements */
} truth;

static const truth tested;

/* p[0] = keepdim, p[1 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.of(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

static void what_counts_as_true(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[][2] = { { 0, 0 }, { 0, NAN }, { 1, -0.0 }, { 1e-300, -1 } };
    int expected[] = { 0, tested.one_of_two, tested.one_of_two, 1 };
    for (int i = 0; i < 4; ++i) {
        adz_tensor *x = adz_tensor_from(values[i], ADZ_SHAPE(2), ADZ_F64);
        adz_tensor *y = tested.of(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_tensor_dtype(y), ADZ_BOOL);
        assert_int_equal(adz_item_i64(y), expected[i]);
    }
    adz_scope_close(scope);
}

static void dtypes_and_no_elements(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = tested.of(adz_full(ADZ_SHAPE(3), 7, ADZ_U8), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_tensor_dtype(y), ADZ_U8);
    assert_int_equal(adz_item_i64(y), 1);
    y = tested.of(adz_zeros(ADZ_SHAPE(0, 2), ADZ_I64), ADZ_DIMS(0), ADZ_DROPDIM);
    assert_int_equal(adz_tensor_dtype(y), ADZ_BOOL);
    assert_true(adz_tensor_at(y, (int64_t[]){ 1 }) == tested.of_none);
    adz_scope_close(scope);
}

static void one_in_a_hundred_thousand(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_full(ADZ_SHAPE(100000), tested.of_none, ADZ_BOOL);
    assert_int_equal(adz_item_i64(tested.of(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), tested.of_none);
    ((uint8_t *)adz_tensor_data(x))[77777] = !tested.of_none;
    assert_int_equal(adz_item_i64(tested.of(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), !tested.of_none);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(what_counts_as_true),
    cmocka_unit_test(dtypes_and_no_elements), cmocka_unit_test(one_in_a_hundred_thousand) };

/* clang-format off */
#define ALL_ANY_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_MASK(3, 4, 2) }, .p = { 0, -1 } }, \
        { .in = { IN_MASK(3, 4, 2) }, .p = { 1, 2, 0, 2 } }, \
        { .in = { IN_T(3, 4) }, .p = { 0, 1, 0 } }, \
        { .in = { IN_TYPED(ADZ_I32, 3, 4) }, .p = { 1, 1, -1 } }, \
        { .in = { IN_TYPED(ADZ_U8, 2, 1, 3) }, .p = { 0, 1, 1 } }, \
        { .in = { IN_0 }, .p = { 0, -1 } }, \
        { .in = { IN_MASK(2, 0) }, .p = { 0, 1, 1 } }, \
        { .in = { IN_MASK(9, 2) }, .p = { 0, 1, 1 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" }, \
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0, -1 }, .status = ADZ_ERR_DTYPE }, \
    }, \
    .not_differentiable = true, \
    FACTS(facts)
/* clang-format on */

#endif
