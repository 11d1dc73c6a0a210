#include "ops/facts.h"

/* p[0] = reduction, p[1] = what is taken from each label of a sample: labels below it end a list */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_multilabel_margin_loss(a->in[0],
            a->p[1] == 0 ? a->in[1] : adz_add_number(a->in[1], -a->p[1]), (adz_reduction)a->p[0]),
        out);
}

FACT(labels_end_at_the_first_negative_number)
{
    adz_tensor *x = LEAF(0.5, 0.25, 2, 0.75);
    adz_tensor *l = adz_multilabel_margin_loss(x, VALUES(ADZ_I32, 3, 0, -1, 2), ADZ_REDUCE_MEAN);
    /* Label 3 against 1 and 2, label 0 against 1 and 2: 0.5 + 2.25 + 0.75 + 2.5. */
    assert_true(adz_item(l) == 1.5);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, -0.5, 0.5, 0.5, -0.5);
    assert_true(
        adz_item(adz_multilabel_margin_loss(x, VALUES(ADZ_I64, -1, 0, 1, 2), ADZ_REDUCE_SUM)) == 0);
}

FACT(a_label_that_stands_twice_counts_twice)
{
    adz_tensor *x = VALUES(ADZ_F64, 0, 1);
    assert_true(
        adz_item(adz_multilabel_margin_loss(x, VALUES(ADZ_I64, 0, 0), ADZ_REDUCE_SUM)) == 2);
}

FACT(a_wrong_label_is_named)
{
    ASSERT_REFUSED(
        adz_multilabel_margin_loss(VALUES(ADZ_F64, 0, 1), VALUES(ADZ_I64, 1, 2), ADZ_REDUCE_SUM),
        ADZ_ERR_INDEX, "multilabel_margin_loss: index 2 at position [1]");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(labels_end_at_the_first_negative_number),
    cmocka_unit_test(a_label_that_stands_twice_counts_twice),
    cmocka_unit_test(a_wrong_label_is_named),
};

const op_case multilabel_margin_loss_case = {
    .name = "multilabel_margin_loss",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 5, 4) }, .p = { ADZ_REDUCE_MEAN, 1 } },
        { .in = { IN_T(5, 4), IN_INDEX(6, 5, 4) }, .p = { ADZ_REDUCE_NONE, 2 } },
        { .in = { IN(4), IN_INDEX(2, 4) }, .p = { ADZ_REDUCE_SUM, 0 } },
        { .in = { IN(6), IN_INDEX(7, 6) }, .p = { ADZ_REDUCE_MEAN, 1 } },
        { .in = { IN(0, 3), IN_INDEX(3, 0, 3) }, .p = { ADZ_REDUCE_SUM, 1 } },
        { .in = { IN(1, 3), IN_INDEX(2, 1, 3) }, .p = { ADZ_REDUCE_NONE, 0 } },
    },
    .rejects = {
        { .in = { IN(5, 4), IN_INDEX(4, 5, 3) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE, .says = "target[5, 3]" },
        { .in = { IN(5, 0), IN_INDEX(1, 5, 0) }, .p = { ADZ_REDUCE_MEAN, 1 }, .status = ADZ_ERR_SHAPE, .says = "at least one class" },
        { .in = { IN(5, 4), IN(5, 4) }, .p = { ADZ_REDUCE_MEAN, 0 }, .status = ADZ_ERR_DTYPE, .says = "target is" },
        { .in = { IN(5, 4), IN_INDEX(4, 5, 4) }, .p = { 7, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_TYPED(ADZ_I64, 5, 4), IN_INDEX(4, 5, 4) }, .p = { ADZ_REDUCE_MEAN, 0 }, .status = ADZ_ERR_DTYPE, .says = "x[5, 4] is int64" },
    },
    .inputs = { "x", "target" },
    FACTS(facts),
};
