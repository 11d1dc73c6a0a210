/* The tests that huber_loss and smooth_l1_loss have in common. Each file defines `tested`, and
 * WIDTH as the name of its last argument, at which the loss changes from a square to an absolute
 * value. */
#ifndef ADZE_TESTS_OPS_HUBER_SMOOTH_L1_H
#define ADZE_TESTS_OPS_HUBER_SMOOTH_L1_H

#include "ops/facts.h"

typedef adz_tensor *rounded_loss(adz_tensor *, adz_tensor *, adz_reduction, double);

static rounded_loss *const tested;

/* p[0] = reduction, p[1] = delta or beta */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested(a->in[0], a->in[1], (adz_reduction)a->p[0], a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, WIDTH, 1);
    return true;
}

/* x and target are expanded to their common shape first, so the dtype of a scalar counts like that
 * of any tensor. With the width 1, both losses are equal. */
FACT(a_scalar_target_promotes_as_any_other)
{
    adz_tensor *x = adz_requires_grad_(VALUES(ADZ_F32, 1, 3), true);
    adz_tensor *t = adz_requires_grad_(adz_scalar(0.5, ADZ_F64), true);
    adz_tensor *l = tested(x, t, ADZ_REDUCE_NONE, 1);
    ASSERT_VALUES(l, ADZ_F64, 0.125, 2);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F32, 0.5, 1);
    assert_int_equal(adz_tensor_dtype(gradient_of(l, t)), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(tested(x, t, ADZ_REDUCE_MEAN, 1)), ADZ_F64);
}

/* clang-format off */
#define ROUNDED_LOSS_CASE(op) \
    .name = (op), \
    .call = call, \
    .samples = { \
        { .in = { IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0.7 } }, \
        { .in = { IN_T(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_SUM, 1 } }, \
        { .in = { IN(3, 4), IN_T(3, 4) }, .p = { ADZ_REDUCE_NONE, 0.3 } }, \
        { .in = { IN(3, 1), IN(4) }, .p = { ADZ_REDUCE_MEAN, 2 } }, \
        { .in = { IN(1), IN(1) }, .p = { ADZ_REDUCE_MEAN, 5 } }, \
        { .in = { IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM, 1 } }, \
        { .in = { IN(5, 7), IN_CONST(5, 7) }, .p = { ADZ_REDUCE_MEAN, 1.2 } }, \
    }, \
    .rejects = { \
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" }, \
        { .in = { IN(3), IN(3) }, .p = { 7, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" }, \
        { .in = { IN(3), IN(3) }, .p = { ADZ_REDUCE_MEAN, -1 }, .status = ADZ_ERR_ARGUMENT, .says = WIDTH }, \
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_DTYPE }, \
    }, \
    .broadcasts = true, \
    .vectors = { (op) }, \
    .inputs = { "x", "target" }, \
    .config = config, \
    FACTS(facts)
/* clang-format on */

#endif
