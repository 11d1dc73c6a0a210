#include "ops/facts.h"

/* p[0] = reduction, p[1] = margin, p[2] = p, p[3] = eps, p[4] = swap */
static int call(const op_args *a, adz_tensor **out)
{
    adz_triplet_margin_loss_options o = ADZ_TRIPLET_MARGIN_LOSS_OPTIONS;
    o.reduction = (adz_reduction)a->p[0];
    o.margin = a->p[1];
    o.p = a->p[2];
    o.eps = a->p[3];
    o.swap = a->p[4] != 0;
    return case_one(adz_triplet_margin_loss(a->in[0], a->in[1], a->in[2], &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, "margin", 1);
    a->p[2] = config_number(config, "p", 2);
    a->p[3] = config_number(config, "eps", 1e-6);
    a->p[4] = config_flag(config, "swap", false);
    return true;
}

FACT(far_negatives_cost_nothing)
{
    adz_triplet_margin_loss_options o;
    adz_triplet_margin_loss_options_init(&o, sizeof o);
    o.reduction = ADZ_REDUCE_NONE;
    o.eps = 0;
    const double a[] = { 0, 0, 0, 0 }, p[] = { 3, 4, 3, 4 }, n[] = { 30, 40, 0, 4 };
    adz_tensor *anchor = adz_tensor_from(a, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *positive = adz_tensor_from(p, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *negative = adz_tensor_from(n, ADZ_SHAPE(2, 2), ADZ_F64);
    ASSERT_VALUES(adz_triplet_margin_loss(anchor, positive, negative, &o), ADZ_F64, 0, 2);
    o.swap = true; /* the second negative is 3 from the positive, and 4 from the anchor */
    ASSERT_VALUES(adz_triplet_margin_loss(anchor, positive, negative, &o), ADZ_F64, 0, 3);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(far_negatives_cost_nothing) };

const op_case triplet_margin_loss_case = {
    .name = "triplet_margin_loss",
    .call = call,
    .samples = {
        { .in = { IN(4, 3), IN(4, 3), IN(4, 3) }, .p = { ADZ_REDUCE_MEAN, 9, 2, 1e-6, 0 } },
        { .in = { IN_T(4, 3), IN(4, 3), IN_T(4, 3) }, .p = { ADZ_REDUCE_NONE, 9, 2, 1e-6, 1 } },
        { .in = { IN(3), IN(3), IN(3) }, .p = { ADZ_REDUCE_SUM, 30, 3, 1e-6, 0 } },
        { .in = { IN(0, 3), IN(0, 3), IN(0, 3) }, .p = { ADZ_REDUCE_SUM, 1, 2, 1e-6, 0 } },
        { .in = { IN(1, 3), IN(1, 3), IN(1, 3) }, .p = { ADZ_REDUCE_MEAN, 9, 2, 1e-6, 0 } },
        { .in = { IN_CONST(2, 3), IN(2, 3), IN(2, 3) }, .p = { ADZ_REDUCE_SUM, 9, 2, 1e-6, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 1, 2, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "positive[3, 5]" },
        { .in = { IN(3, 4), IN(3, 4), IN(4) }, .p = { ADZ_REDUCE_MEAN, 1, 2, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "negative[4]" },
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0, 2, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "margin is 0" },
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { ADZ_REDUCE_MEAN, 1, -1, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "p is -1" },
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { 7, 1, 2, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3, 4), IN(3, 4), IN_TYPED(ADZ_I64, 3, 4) }, .p = { ADZ_REDUCE_MEAN, 1, 2, 0, 0 }, .status = ADZ_ERR_DTYPE, .says = "negative[3, 4] is int64" },
    },
    .needs_distinct = true,
    .vectors = { "triplet_margin_loss" },
    .inputs = { "anchor", "positive", "negative" },
    .config = config,
    FACTS(facts),
};
