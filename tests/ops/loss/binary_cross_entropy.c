#include "ops/facts.h"

/* p[0] = reduction */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_binary_cross_entropy(a->in[0], a->in[1], a->in[2], (adz_reduction)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    return true;
}

FACT(certainty_costs_no_more_than_100)
{
    adz_tensor *x = LEAF(0, 1, 0, 1), *t = VALUES(ADZ_F64, 0, 1, 1, 0);
    adz_tensor *l = adz_binary_cross_entropy(x, t, ADZ_NONE, ADZ_REDUCE_NONE);
    ASSERT_VALUES(l, ADZ_F64, 0, 0, 100, 100);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 0, 0, -1e12, 1e12);
    ASSERT_VALUES(gradient_by_expression(l, x), ADZ_F64, 0, 0, -1e12, 1e12);
}

FACT(a_certain_answer_pulls_its_target_no_harder_than_100)
{
    adz_tensor *x = VALUES(ADZ_F64, 0, 1), *t = LEAF(0.5, 0.5);
    adz_tensor *l = adz_binary_cross_entropy(x, t, ADZ_NONE, ADZ_REDUCE_NONE);
    ASSERT_VALUES(gradient_of(l, t), ADZ_F64, 100, -100);
    ASSERT_VALUES(gradient_by_expression(l, t), ADZ_F64, 100, -100);
}

FACT(what_is_no_probability_is_refused)
{
    adz_tensor *t = VALUES(ADZ_F64, 0, 1);
    ASSERT_REFUSED(
        adz_binary_cross_entropy(VALUES(ADZ_F64, 0.5, 1.1), t, ADZ_NONE, ADZ_REDUCE_MEAN),
        ADZ_ERR_ARGUMENT, "with_logits");
    ASSERT_REFUSED(
        adz_binary_cross_entropy(VALUES(ADZ_F64, -1e-9, 1), t, ADZ_NONE, ADZ_REDUCE_MEAN),
        ADZ_ERR_ARGUMENT, "[0, 1]");
    ASSERT_REFUSED(adz_binary_cross_entropy(VALUES(ADZ_F64, NAN, 1), t, ADZ_NONE, ADZ_REDUCE_MEAN),
        ADZ_ERR_ARGUMENT, "[0, 1]");
}

FACT(where_the_logarithm_is_held_the_target_gradient_is_constant)
{
    adz_tensor *x = LEAF(0, 1, 0.5, 1e-60), *t = LEAF(0.5, 0.5, 0.5, 0.5);
    adz_tensor *l = adz_binary_cross_entropy(x, t, ADZ_NONE, ADZ_REDUCE_NONE);
    adz_tensor *g = gradient_by_expression(l, t);
    ASSERT_VALUES(g, ADZ_F64, 100, -100, 0, 100);
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, -1, -1, -4, -1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(where_the_logarithm_is_held_the_target_gradient_is_constant),
    cmocka_unit_test(certainty_costs_no_more_than_100),
    cmocka_unit_test(a_certain_answer_pulls_its_target_no_harder_than_100),
    cmocka_unit_test(what_is_no_probability_is_refused),
};

#define UNIT(...) IN_OF(FILL_UNIT, __VA_ARGS__)

const op_case binary_cross_entropy_case = {
    .name = "binary_cross_entropy",
    .call = call,
    .samples = {
        { .in = { UNIT(3, 4), UNIT(3, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN_T_OF(FILL_UNIT, 3, 4), UNIT(3, 4), IN_NONE }, .p = { ADZ_REDUCE_SUM } },
        { .in = { UNIT(3, 4), IN_T_OF(FILL_UNIT, 3, 4), IN(3, 1) }, .p = { ADZ_REDUCE_NONE } },
        { .in = { UNIT(2, 3, 4), UNIT(2, 3, 4), IN_CONST(4) }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { UNIT(1), UNIT(1), IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { UNIT(0, 3), UNIT(0, 3), IN_NONE }, .p = { ADZ_REDUCE_SUM } },
        { .in = { UNIT(37), IN_CONST_OF(FILL_UNIT, 37), IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
    },
    .rejects = {
        { .in = { UNIT(3, 4), UNIT(4), IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { UNIT(3, 4), UNIT(3, 4), IN(2, 3, 4) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "weight" },
        { .in = { UNIT(3), UNIT(3), IN_NONE }, .p = { 7 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { UNIT(3), UNIT(3), IN(3) }, .p = { ADZ_REDUCE_BATCHMEAN }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_TYPED(ADZ_I64, 3), UNIT(3), IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "binary_cross_entropy" },
    .inputs = { "x", "target", "weight" },
    .config = config,
    FACTS(facts),
};
