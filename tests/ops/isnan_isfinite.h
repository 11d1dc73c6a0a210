/* The tests that isnan and isfinite have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_ISNAN_ISFINITE_H
#define ADZE_TESTS_OPS_ISNAN_ISFINITE_H

#include "ops/facts.h"

typedef struct kind {
    adz_tensor *(*of)(adz_tensor *);
    double nan, infinity, number; /* the result for NaN, for an infinity, for a number */
} kind;

static const kind tested;

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.of(a->in[0]), out);
}

FACT(every_dtype)
{
    double n = tested.number;
    ASSERT_VALUES(tested.of(VALUES(ADZ_F32, NAN, INFINITY, -INFINITY, 0)), ADZ_BOOL, tested.nan,
        tested.infinity, tested.infinity, n);
    ASSERT_VALUES(tested.of(VALUES(ADZ_F64, -NAN, 1.7e308, 3)), ADZ_BOOL, tested.nan, n, n);
    ASSERT_VALUES(tested.of(VALUES(ADZ_I32, INT32_MIN, 0)), ADZ_BOOL, n, n);
    ASSERT_VALUES(tested.of(VALUES(ADZ_BOOL, 1, 0)), ADZ_BOOL, n, n);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(every_dtype) };

/* clang-format off */
#define ISNAN_ISFINITE_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(3, 4) } }, \
        { .in = { IN_T(3, 4) } }, \
        { .in = { IN_MASK(1) } }, \
        { .in = { IN_INDEX(2, 2, 1, 3) } }, \
        { .in = { IN(0, 3) } }, \
        { .in = { IN_0 } }, \
    }, \
    .rejects = { \
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" }, \
    }, \
    .not_differentiable = true, \
    FACTS(facts)
/* clang-format on */

#endif
