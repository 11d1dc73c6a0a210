/* The tests that logical_and, logical_or and logical_xor have in common. Each file defines
 * `tested`. */
#ifndef ADZE_TESTS_OPS_LOGICAL_H
#define ADZE_TESTS_OPS_LOGICAL_H

#include "ops/facts.h"

typedef struct connective {
    adz_tensor *(*of)(adz_tensor *, adz_tensor *);
    double one, both; /* the result if one operand is true, and if both are */
} connective;

static const connective tested;

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested.of(a->in[0], a->in[1]), out);
}

FACT(truth_table)
{
    adz_tensor *a = VALUES(ADZ_BOOL, 0, 0, 1, 1), *b = VALUES(ADZ_BOOL, 0, 1, 0, 1);
    ASSERT_VALUES(tested.of(a, b), ADZ_BOOL, 0, tested.one, tested.one, tested.both);
}

FACT(everything_but_zero_is_true)
{
    double yes = tested.both;
    adz_tensor *f = VALUES(ADZ_F64, NAN, 1e-300, -0.5, INFINITY);
    ASSERT_VALUES(tested.of(f, VALUES(ADZ_F32, 1, 1, 1, 1)), ADZ_BOOL, yes, yes, yes, yes);
    ASSERT_VALUES(tested.of(VALUES(ADZ_I64, 256), VALUES(ADZ_U8, 2)), ADZ_BOOL, yes);
    ASSERT_VALUES(tested.of(VALUES(ADZ_F32, -0.0), VALUES(ADZ_I32, 0)), ADZ_BOOL, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(truth_table),
    cmocka_unit_test(everything_but_zero_is_true),
};

/* clang-format off */
#define LOGICAL_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_MASK(3, 4), IN_MASK(3, 4) } }, \
        { .in = { IN_T(3, 4), IN_MASK(4) } }, \
        { .in = { IN_MASK(2, 1, 3), IN_MASK(4, 1) } }, \
        { .in = { IN_INDEX(3, 5), IN_INDEX(3, 2, 5) } }, \
        { .in = { IN_MASK(3, 0), IN_MASK(1, 1) } }, \
        { .in = { IN_MASK(1), IN_0 } }, \
    }, \
    .rejects = { \
        { .in = { IN_MASK(3, 4), IN_MASK(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" }, \
        { .in = { IN_MASK(3), IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, \
            .says = "adz_to" }, \
    }, \
    .not_differentiable = true, \
    .broadcasts = true, \
    FACTS(facts)
/* clang-format on */

#endif
