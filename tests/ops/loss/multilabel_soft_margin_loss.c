#include "ops/facts.h"

/* p[0] = reduction */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_multilabel_soft_margin_loss(a->in[0], a->in[1], a->in[2], (adz_reduction)a->p[0]), out);
}

FACT(it_is_the_mean_over_the_classes)
{
    adz_tensor *x = VALUES(ADZ_F64, 0, 1000), *t = VALUES(ADZ_F64, 1, 0);
    adz_tensor *l = adz_multilabel_soft_margin_loss(x, t, VALUES(ADZ_F64, 0, 1), ADZ_REDUCE_SUM);
    assert_true(adz_item(l) == 500);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_is_the_mean_over_the_classes),
};

const op_case multilabel_soft_margin_loss_case = {
    .name = "multilabel_soft_margin_loss",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_OF(FILL_UNIT, 5, 4), IN(4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN_T(5, 4), IN_OF(FILL_UNIT, 5, 4), IN_NONE }, .p = { ADZ_REDUCE_NONE } },
        { .in = { IN(4), IN_CONST_OF(FILL_UNIT, 4), IN_NONE }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(2, 3, 4), IN_OF(FILL_UNIT, 2, 3, 4), IN(3, 1) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(0, 3), IN(0, 3), IN_NONE }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(1, 3), IN_OF(FILL_UNIT, 1, 3), IN_NONE }, .p = { ADZ_REDUCE_NONE } },
    },
    .rejects = {
        { .in = { IN(5, 4), IN(4), IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "target[4]" },
        { .in = { IN_0, IN_0, IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "[..., C]" },
        { .in = { IN(5, 4), IN(5, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(5, 4), IN(5, 4), IN_NONE }, .p = { 7 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_TYPED(ADZ_I64, 5, 4), IN(5, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE, .says = "x[5, 4] is int64" },
    },
    .broadcasts = true,
    .inputs = { "x", "target", "weight" },
    FACTS(facts),
};
