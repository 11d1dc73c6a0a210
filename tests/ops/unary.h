/* The samples of elementwise operators with one input. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_UNARY_H
#define ADZE_TESTS_OPS_UNARY_H

#include "ops/facts.h"

static adz_tensor *(*const tested)(adz_tensor *);

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested(a->in[0]), out);
}

/* The case of an operator. `numbers` is how its inputs are drawn, FILL_NORMAL or FILL_POSITIVE. */
/* clang-format off */
#define UNARY_CASE(op, numbers) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN_OF(numbers, 3, 4) } }, \
        { .in = { IN_T_OF(numbers, 3, 4) } }, \
        { .in = { IN_OF(numbers, 1) } }, \
        { .in = { IN_OF(numbers, 2, 1, 3) } }, \
        { .in = { IN_OF(numbers, 0, 3) } }, \
        { .in = { IN_0_OF(numbers) } }, \
        { .in = { IN_OF(numbers, 37) } }, \
    }, \
    .rejects = { \
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" }, \
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" }, \
    }, \
    .vectors = { (op) }, \
    .inputs = { "x" }, \
    FACTS(facts)
/* clang-format on */

#endif
