#include "ops/facts.h"

/* p[0] = reduction, p[1] = margin */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_margin_ranking_loss(a->in[0], a->in[1], a->in[2], (adz_reduction)a->p[0], a->p[1]),
        out);
}

FACT(the_higher_score_wins_by_the_margin)
{
    adz_tensor *x1 = LEAF(3, 3, 1, 1), *x2 = VALUES(ADZ_F64, 1, 1, 1, NAN);
    adz_tensor *t = VALUES(ADZ_I64, 1, -1, 1, 1);
    adz_tensor *l = adz_margin_ranking_loss(x1, x2, t, ADZ_REDUCE_NONE, 0.5);
    ASSERT_VALUES(l, ADZ_F64, 0, 2.5, 0.5, NAN);
    ASSERT_VALUES(gradient_of(l, x1), ADZ_F64, 0, 1, -1, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_higher_score_wins_by_the_margin),
};

const op_case margin_ranking_loss_case = {
    .name = "margin_ranking_loss",
    .call = call,
    .samples = {
        { .in = { IN(4), IN(4), IN(4) }, .p = { ADZ_REDUCE_MEAN, 0.7 } },
        { .in = { IN_T(3, 4), IN(3, 4), IN_CONST(3, 4) }, .p = { ADZ_REDUCE_SUM, 0.3 } },
        { .in = { IN(3, 1), IN(3, 4), IN(1, 4) }, .p = { ADZ_REDUCE_NONE, 0.5 } },
        { .in = { IN(0, 3), IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM, 1 } },
        { .in = { IN_0, IN_0, IN_0 }, .p = { ADZ_REDUCE_NONE, 3 } },
        { .in = { IN(2, 3), IN(2, 3), IN_INDEX(2, 2, 3) }, .p = { ADZ_REDUCE_MEAN, 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE, .says = "one number of dimensions" },
        { .in = { IN(3), IN(4), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3), IN(3), IN(3) }, .p = { 7, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3), IN(3), IN(3) }, .p = { ADZ_REDUCE_MEAN, NAN }, .status = ADZ_ERR_ARGUMENT, .says = "margin is nan" },
        { .in = { IN(3), IN_TYPED(ADZ_I64, 3), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_DTYPE, .says = "x2[3] is int64" },
    },
    .broadcasts = true,
    .inputs = { "x1", "x2", "target" },
    FACTS(facts),
};
