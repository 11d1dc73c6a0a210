/* The tests that maximum and minimum have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_MAXIMUM_MINIMUM_H
#define ADZE_TESTS_OPS_MAXIMUM_MINIMUM_H

#include "ops/facts.h"

typedef struct extreme {
    adz_tensor *(*of)(adz_tensor *, adz_tensor *);
    bool largest;
} extreme;

static const extreme tested;

static double of_two(double larger, double smaller)
{
    return tested.largest ? larger : smaller;
}

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.of(a->in[0], a->in[1]), out);
}

FACT(nan_and_infinity)
{
    adz_tensor *a = VALUES(ADZ_F32, NAN, 1, NAN, INFINITY), *b = VALUES(ADZ_F32, 1, NAN, NAN, 3);
    ASSERT_VALUES(tested.of(a, b), ADZ_F32, NAN, NAN, NAN, of_two(INFINITY, 3));
}

FACT(ties_share_the_gradient)
{
    adz_tensor *(*ways[])(adz_tensor *, adz_tensor *) = { gradient_of, gradient_by_expression };
    adz_tensor *a = LEAF(1, 2, 3), *b = LEAF(2, 2, 2);
    for (int i = 0; i < 2; ++i) {
        adz_tensor *da = ways[i](tested.of(a, b), a), *db = ways[i](tested.of(a, b), b);
        ASSERT_VALUES(da, ADZ_F64, of_two(0, 1), 0.5, of_two(1, 0));
        ASSERT_VALUES(db, ADZ_F64, of_two(1, 0), 0.5, of_two(0, 1));
        ASSERT_VALUES(ways[i](tested.of(a, a), a), ADZ_F64, 1, 1, 1);
    }
}

FACT(integers)
{
    ASSERT_VALUES(tested.of(VALUES(ADZ_I32, -5, 2), VALUES(ADZ_I64, -6, 7)), ADZ_I64,
        of_two(-5, -6), of_two(7, 2));
    ASSERT_VALUES(tested.of(VALUES(ADZ_U8, 200, 2), VALUES(ADZ_U8, 7, 7)), ADZ_U8, of_two(200, 7),
        of_two(7, 2));
    ASSERT_VALUES(
        tested.of(VALUES(ADZ_BOOL, 0, 1), VALUES(ADZ_BOOL, 1, 1)), ADZ_BOOL, of_two(1, 0), 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nan_and_infinity),
    cmocka_unit_test(ties_share_the_gradient),
    cmocka_unit_test(integers),
};

/* clang-format off */
#define MAXIMUM_MINIMUM_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(3, 4), IN(3, 4) } }, \
        { .in = { IN_T(3, 4), IN(4) } }, \
        { .in = { IN(2, 1, 3), IN(4, 1) } }, \
        { .in = { IN_0, IN(2, 2) } }, \
        { .in = { IN(3, 0), IN(1, 1) } }, \
        { .in = { IN(1), IN(1) } }, \
        { .in = { IN(37), IN_CONST(37) } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" }, \
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
    }, \
    .broadcasts = true, \
    .first_order_only = true, \
    .vectors = { op }, \
    .inputs = { "a", "b" }, \
    FACTS(facts)
/* clang-format on */

#endif
