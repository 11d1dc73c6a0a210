/* The tests that tril and triu have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_TRIANGLE_H
#define ADZE_TESTS_OPS_TRIANGLE_H

#include "ops/facts.h"

typedef struct triangle {
    adz_tensor *(*of)(adz_tensor *, int64_t);
    bool lower;
    double kept[3][6]; /* the results for 1 2 3, 4 5 6 with the diagonals 0, 1 and INT64_MAX */
} triangle;

static const triangle tested;

/* p[0] = diagonal */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.of(a->in[0], (int64_t)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "diagonal", 0);
    return true;
}

FACT(diagonals_are_counted_from_the_main_one_upwards)
{
    static const int64_t diagonals[] = { 0, 1, INT64_MAX };
    adz_tensor *x = adz_reshape(VALUES(ADZ_I64, 1, 2, 3, 4, 5, 6), ADZ_SHAPE(2, 3));
    for (int i = 0; i < 3; ++i) {
        adz_tensor *y = adz_reshape(tested.of(x, diagonals[i]), ADZ_SHAPE(6));
        assert_values(y, ADZ_I64, 6, tested.kept[i], __LINE__);
    }
}

FACT(nan_outside_the_triangle_goes)
{
    adz_tensor *nan = adz_full(ADZ_SHAPE(1, 1), NAN, ADZ_F32);
    assert_true(adz_item(tested.of(nan, tested.lower ? -1 : 1)) == 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(diagonals_are_counted_from_the_main_one_upwards),
    cmocka_unit_test(nan_outside_the_triangle_goes),
};

/* clang-format off */
#define TRIANGLE_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(4, 3) }, .p = { 0 } }, \
        { .in = { IN_T(4, 3) }, .p = { 1 } }, \
        { .in = { IN(2, 3, 4) }, .p = { -1 } }, \
        { .in = { IN(3, 3) }, .p = { -2 } }, \
        { .in = { IN(1, 3) }, .p = { 0 } }, \
        { .in = { IN(3, 0) }, .p = { 0 } }, \
        { .in = { IN(0, 3, 2) }, .p = { 5 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "two dimensions" }, \
        { .in = { IN_0 }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = (op) }, \
    }, \
    .first_order_only = true, \
    .vectors = { (op) }, \
    .inputs = { "x" }, \
    .config = config, \
    FACTS(facts)
/* clang-format on */

#endif
