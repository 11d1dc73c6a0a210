#include "ops/facts.h"

/* p[0] = reduction */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_binary_cross_entropy_with_logits(
                        a->in[0], a->in[1], a->in[2], (adz_reduction)a->p[0], a->in[3]),
        out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    return true;
}

FACT(extreme_scores_keep_their_digits)
{
    adz_tensor *x = LEAF(1000, -1000, 1000, -1000, 40), *t = VALUES(ADZ_F64, 1, 0, 0, 1, 1);
    adz_tensor *l = adz_binary_cross_entropy_with_logits(x, t, ADZ_NONE, ADZ_REDUCE_NONE, ADZ_NONE);
    ASSERT_VALUES(l, ADZ_F64, 0, 0, 1000, 1000, log1p(exp(-40)));
    adz_tensor *g = gradient_of(l, x);
    ASSERT_VALUES(adz_slice(g, 0, 0, 4, 1), ADZ_F64, 0, 0, 1, -1);
}

FACT(an_infinite_score_under_pos_weight_is_no_nan)
{
    adz_tensor *x = VALUES(ADZ_F64, INFINITY, 0), *t = VALUES(ADZ_F64, 0, 1);
    adz_tensor *w = VALUES(ADZ_F64, 3, 1);
    adz_tensor *l = adz_binary_cross_entropy_with_logits(x, t, ADZ_NONE, ADZ_REDUCE_NONE, w);
    ASSERT_VALUES(l, ADZ_F64, INFINITY, log(2));
}

/* log sigmoid(-x) - pos_weight log sigmoid(x), one of which is 0 at an infinite score. */
FACT(a_target_has_a_gradient_at_infinite_scores)
{
    static const double weights[] = { 0.25, 1, 4 };
    for (int i = 0; i < 3; ++i) {
        adz_tensor *x = VALUES(ADZ_F64, -INFINITY, INFINITY), *t = LEAF(0.3, 0.3);
        adz_tensor *w = VALUES(ADZ_F64, weights[i]), *l;
        l = adz_binary_cross_entropy_with_logits(x, t, ADZ_NONE, ADZ_REDUCE_NONE, w);
        ASSERT_VALUES(l, ADZ_F64, INFINITY, INFINITY);
        ASSERT_VALUES(gradient_of(l, t), ADZ_F64, INFINITY, -INFINITY);
    }
}

FACT(pos_weight_costs_no_digits)
{
    adz_tensor *x = LEAF(-50, 50), *t = VALUES(ADZ_F64, 0, 1), *w = VALUES(ADZ_F64, 3);
    adz_tensor *l = adz_binary_cross_entropy_with_logits(x, t, ADZ_NONE, ADZ_REDUCE_NONE, w);
    adz_tensor *wanted = VALUES(ADZ_F64, exp(-50), 3 * exp(-50));
    assert_true(adz_allclose(l, wanted, 1e-14, 0, false));
    wanted = VALUES(ADZ_F64, exp(-50), -3 * exp(-50));
    assert_true(adz_allclose(gradient_of(l, x), wanted, 1e-14, 0, false));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_target_has_a_gradient_at_infinite_scores),
    cmocka_unit_test(pos_weight_costs_no_digits),
    cmocka_unit_test(an_infinite_score_under_pos_weight_is_no_nan),
    cmocka_unit_test(extreme_scores_keep_their_digits),
};

#define UNIT(...) IN_OF(FILL_UNIT, __VA_ARGS__)

const op_case binary_cross_entropy_with_logits_case = {
    .name = "binary_cross_entropy_with_logits",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), UNIT(3, 4), IN_NONE, IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN_T(3, 4), UNIT(3, 4), IN_NONE, IN_NONE }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(3, 4), IN_T_OF(FILL_UNIT, 3, 4), IN(3, 1), IN_OF(FILL_POSITIVE, 4) }, .p = { ADZ_REDUCE_NONE } },
        { .in = { IN(2, 3, 4), UNIT(2, 3, 4), IN_CONST(4), IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(3, 4), UNIT(3, 4), IN_NONE, IN_CONST_OF(FILL_POSITIVE, 3, 1) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(1), UNIT(1), IN_NONE, IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
        { .in = { IN(0, 3), UNIT(0, 3), IN_NONE, IN_OF(FILL_POSITIVE, 3) }, .p = { ADZ_REDUCE_SUM } },
        { .in = { IN(37), IN_CONST_OF(FILL_UNIT, 37), IN_NONE, IN_NONE }, .p = { ADZ_REDUCE_MEAN } },
    },
    .rejects = {
        { .in = { IN(3, 4), UNIT(4), IN_NONE, IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN(3, 4), UNIT(3, 4), IN(2, 3, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "weight" },
        { .in = { IN(3, 4), UNIT(3, 4), IN_NONE, IN(2, 3, 4) }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_SHAPE, .says = "pos_weight" },
        { .in = { IN(3), UNIT(3), IN_NONE, IN_NONE }, .p = { 7 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN_TYPED(ADZ_I64, 3), UNIT(3), IN_NONE, IN_NONE }, .p = { ADZ_REDUCE_MEAN }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "binary_cross_entropy_with_logits" },
    .inputs = { "x", "target", "weight", "pos_weight" },
    .config = config,
    FACTS(facts),
};
