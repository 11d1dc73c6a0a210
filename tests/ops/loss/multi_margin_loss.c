#include "ops/facts.h"

/* p[0] = reduction, p[1] = p, p[2] = margin */
static int call(const op_args *a, adz_tensor **out)
{
    adz_multi_margin_loss_options o = ADZ_MULTI_MARGIN_LOSS_OPTIONS;
    o.reduction = (adz_reduction)a->p[0];
    o.p = (int)a->p[1];
    o.margin = a->p[2];
    return case_one(adz_multi_margin_loss(a->in[0], a->in[1], a->in[2], &o), out);
}

FACT(only_missed_margins_cost)
{
    adz_tensor *x = LEAF(2, 1, 4, 1.5), *row = adz_reshape(x, ADZ_SHAPE(1, 4));
    adz_multi_margin_loss_options o;
    adz_multi_margin_loss_options_init(&o, sizeof o);
    adz_tensor *l = adz_multi_margin_loss(row, VALUES(ADZ_I32, 0), ADZ_NONE, &o);
    assert_true(adz_item(l) == 0.875); /* (0 + 3 + 0.5) / 4 */
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -0.5, 0, 0.25, 0.25);
    o.p = 2;
    l = adz_multi_margin_loss(row, VALUES(ADZ_I64, 0), VALUES(ADZ_F64, 2, 0, 0, 0), &o);
    assert_true(adz_item(l) == 4.625); /* 2 (9 + 0.25) / 4 */
}

FACT(a_wrong_class_is_named_and_nan_is_not_passed_over)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, NAN, 3), ADZ_SHAPE(2, 2));
    ASSERT_REFUSED(adz_multi_margin_loss(x, VALUES(ADZ_I64, 1, 2), ADZ_NONE, NULL), ADZ_ERR_INDEX,
        "multi_margin_loss: index 2 at position [1]");
    assert_true(isnan(adz_item(adz_multi_margin_loss(x, VALUES(ADZ_I64, 1, 1), ADZ_NONE, NULL))));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(only_missed_margins_cost),
    cmocka_unit_test(a_wrong_class_is_named_and_nan_is_not_passed_over),
};

const op_case multi_margin_loss_case = {
    .name = "multi_margin_loss",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN(4) }, .p = { ADZ_REDUCE_MEAN, 1, 1 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_NONE, 2, 1.5 } },
        { .in = { IN(4), IN_INDEX_0(4), IN_CONST(4) }, .p = { ADZ_REDUCE_SUM, 2, 1 } },
        { .in = { IN(4), IN_INDEX_0(4), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 1, 3 } },
        { .in = { IN(0, 3), IN_INDEX(3, 0), IN_NONE }, .p = { ADZ_REDUCE_SUM, 1, 1 } },
        { .in = { IN(1, 3), IN_INDEX(3, 1), IN(3) }, .p = { ADZ_REDUCE_NONE, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(5, 4), IN_INDEX(4, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "target[4]" },
        { .in = { IN(5, 0), IN_INDEX(1, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "at least one class" },
        { .in = { IN(5, 4), IN(5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 1, 1 }, .status = ADZ_ERR_DTYPE, .says = "target is" },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "weight[3]" },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 3, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "p is 3" },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 1, INFINITY }, .status = ADZ_ERR_ARGUMENT, .says = "margin is inf" },
        { .in = { IN_TYPED(ADZ_I64, 5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 1, 1 }, .status = ADZ_ERR_DTYPE, .says = "x[5, 4] is int64" },
    },
    .inputs = { "x", "target", "weight" },
    FACTS(facts),
};
