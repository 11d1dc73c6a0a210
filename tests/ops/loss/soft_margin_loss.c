#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_soft_margin_loss(a->in[0], a->in[1], (adz_reduction)a->p[0]), out);
}

FACT(a_score_of_0_says_nothing)
{
    adz_tensor *x = LEAF(0, 0), *t = VALUES(ADZ_F64, 1, -1);
    adz_tensor *l = adz_soft_margin_loss(x, t, ADZ_REDUCE_NONE);
    ASSERT_VALUES(l, ADZ_F64, 0.69314718055994531, 0.69314718055994531);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -0.5, 0.5);
}

FACT(wrong_scores_cost_their_size)
{
    adz_tensor *x = LEAF(1000, 1000), *t = VALUES(ADZ_F64, 1, -1);
    adz_tensor *l = adz_soft_margin_loss(x, t, ADZ_REDUCE_NONE);
    ASSERT_VALUES(l, ADZ_F64, 0, 1000);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_score_of_0_says_nothing),
    cmocka_unit_test(wrong_scores_cost_their_size),
};

const op_case soft_margin_loss_case = {
    .name = "soft_margin_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN_T(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(3, 1), IN(4) }, .p = { ADZ_REDUCE_NONE } },
        { .in = { IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(5, 7), IN(5, 7) }, .p = { ADZ_REDUCE_NONE } },
        { .in = { IN(300), IN_CONST(300) }, .p = { ADZ_REDUCE_MEAN } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .inputs = { "x", "target" },
    FACTS(facts),
};
