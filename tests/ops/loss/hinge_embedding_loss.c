#include "ops/facts.h"

/* A sample's targets are 0 and 1 and become -1 and 1. */
static adz_tensor *signs(adz_tensor *t)
{
    return t != NULL ? adz_add_number(adz_mul_number(t, 2), -1) : NULL;
}

/* p[0] = reduction, p[1] = margin */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_hinge_embedding_loss(a->in[0], signs(a->in[1]), (adz_reduction)a->p[0], a->p[1]), out);
}

FACT(the_target_chooses_the_side)
{
    adz_tensor *x = LEAF(0.25, 0.25, 3, 0.25, 1, NAN, NAN);
    adz_tensor *t = VALUES(ADZ_F32, 1, -1, -1, 0, -1, 1, -1);
    adz_tensor *l = adz_hinge_embedding_loss(x, t, ADZ_REDUCE_NONE, 1);
    ASSERT_VALUES(l, ADZ_F64, 0.25, 0.75, 0, 1, 0, NAN, NAN);
    /* As in PyTorch, a distance of exactly the margin still has a slope. */
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 1, -1, 0, 0, -1, 1, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_target_chooses_the_side),
};

const op_case hinge_embedding_loss_case = {
    .name = "hinge_embedding_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_INDEX(2, 3, 4) }, .p = { ADZ_REDUCE_MEAN, 1 } },
        { .in = { IN_T(3, 4), IN_INDEX(2, 3, 4) }, .p = { ADZ_REDUCE_SUM, -0.3 } },
        { .in = { IN(3, 1), IN_INDEX(2, 4) }, .p = { ADZ_REDUCE_NONE, 0.5 } },
        { .in = { IN(0, 3), IN_INDEX(2, 0, 3) }, .p = { ADZ_REDUCE_SUM, 1 } },
        { .in = { IN_0, IN_INDEX_0(1) }, .p = { ADZ_REDUCE_NONE, 1 } },
        { .in = { IN(1, 5), IN_INDEX(2, 1, 5) }, .p = { ADZ_REDUCE_MEAN, 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3), IN_INDEX(2, 3) }, .p = { 7, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_MEAN, INFINITY }, .status = ADZ_ERR_ARGUMENT, .says = "margin is inf" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_INDEX(2, 3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_DTYPE, .says = "x[3] is int64" },
    },
    .broadcasts = true,
    .inputs = { "x", "target" },
    FACTS(facts),
};
