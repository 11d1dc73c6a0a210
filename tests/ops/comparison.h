/* The tests that eq, ge, gt, le, lt and ne have in common. Each file defines `tested` and makes its
 * case by a macro, such as COMPARISON_CASE("eq"). */
#ifndef ADZE_TESTS_OPS_COMPARISON_H
#define ADZE_TESTS_OPS_COMPARISON_H

#include "ops/facts.h"

typedef struct comparison {
    adz_tensor *(*tensors)(adz_tensor *, adz_tensor *);
    adz_tensor *(*number)(adz_tensor *, double);
    double less, equal, greater, unordered; /* the result for such operands, 0 or 1 */
} comparison;

static const comparison tested;

/* p[0] = 1: compares with the number p[1] */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        a->p[0] == 1 ? tested.number(a->in[0], a->p[1]) : tested.tensors(a->in[0], a->in[1]), out);
}

FACT(values)
{
    adz_tensor *a = VALUES(ADZ_F32, 1, 2, 3), *b = VALUES(ADZ_F32, 2, 2, 2);
    ASSERT_VALUES(tested.tensors(a, b), ADZ_BOOL, tested.less, tested.equal, tested.greater);
    ASSERT_VALUES(tested.number(a, 2), ADZ_BOOL, tested.less, tested.equal, tested.greater);
    a = VALUES(ADZ_F64, INFINITY, 0);
    ASSERT_VALUES(
        tested.tensors(a, VALUES(ADZ_F64, INFINITY, -0.0)), ADZ_BOOL, tested.equal, tested.equal);
}

FACT(nan_compares_as_in_ieee)
{
    adz_tensor *a = VALUES(ADZ_F32, NAN, 1, NAN), *b = VALUES(ADZ_F32, 1, NAN, NAN);
    double u = tested.unordered;
    ASSERT_VALUES(tested.tensors(a, b), ADZ_BOOL, u, u, u);
}

/* Operands are compared in their common dtype, so no integer is rounded to the other's dtype. */
FACT(mixed_dtypes)
{
    adz_tensor *i = VALUES(ADZ_I32, 0, 1), *one = VALUES(ADZ_BOOL, 1);
    ASSERT_VALUES(tested.number(i, 0.5), ADZ_BOOL, tested.less, tested.greater);
    ASSERT_VALUES(
        tested.tensors(i, VALUES(ADZ_F64, 0.5, 0.5)), ADZ_BOOL, tested.less, tested.greater);
    ASSERT_VALUES(tested.tensors(VALUES(ADZ_U8, 1), VALUES(ADZ_I64, 257)), ADZ_BOOL, tested.less);
    ASSERT_VALUES(tested.tensors(one, VALUES(ADZ_BOOL, 1)), ADZ_BOOL, tested.equal);
}

FACT(no_gradient)
{
    adz_tensor *x = LEAF(1, 2);
    assert_false(adz_tensor_requires_grad(tested.tensors(x, x)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values),
    cmocka_unit_test(nan_compares_as_in_ieee),
    cmocka_unit_test(mixed_dtypes),
    cmocka_unit_test(no_gradient),
};

/* clang-format off */
#define COMPARISON_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(3, 4), IN(3, 4) } }, \
        { .in = { IN_T(3, 4), IN(4) } }, \
        { .in = { IN_MASK(2, 1, 3), IN_MASK(4, 1) } }, \
        { .in = { IN_INDEX(3, 5), IN_INDEX(3, 2, 5) } }, \
        { .in = { IN(3, 0), IN(1, 1) } }, \
        { .in = { IN(1), IN_0 } }, \
        { .in = { IN(37) }, .p = { 1, 0.25 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" }, \
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
    }, \
    .not_differentiable = true, \
    .broadcasts = true, \
    .inputs = { "a", "b" }, \
    FACTS(facts)
/* clang-format on */

#endif
