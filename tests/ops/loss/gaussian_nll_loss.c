#include "ops/facts.h"

/* p[0] = reduction, p[1] = full, p[2] = eps */
static int call(const op_args *a, adz_tensor **out)
{
    adz_gaussian_nll_loss_options o = ADZ_GAUSSIAN_NLL_LOSS_OPTIONS;
    o.reduction = (adz_reduction)a->p[0];
    o.full = a->p[1] != 0;
    o.eps = a->p[2];
    return case_one(adz_gaussian_nll_loss(a->in[0], a->in[1], a->in[2], &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_flag(config, "full", false);
    a->p[2] = config_number(config, "eps", 1e-6);
    return true;
}

/* Below eps the loss is that of eps, and the gradient is that of eps as well. */
FACT(small_variances_count_as_eps)
{
    adz_gaussian_nll_loss_options o;
    adz_gaussian_nll_loss_options_init(&o, sizeof o);
    o.reduction = ADZ_REDUCE_NONE;
    o.eps = 0.5;
    adz_tensor *x = LEAF(1, 1, 1), *t = VALUES(ADZ_F64, 0, 0, 0), *var = LEAF(0, 0.25, 0.5);
    adz_tensor *l = adz_gaussian_nll_loss(x, t, var, &o);
    const double wanted = 0.5 * (log(0.5) + 2), slope = 0.5 * (2 - 4);
    ASSERT_VALUES(l, ADZ_F64, wanted, wanted, wanted);
    ASSERT_VALUES(gradient_of(l, var), ADZ_F64, slope, slope, slope);
}

/* An infinite variance says nothing about x: the loss is infinite and has slope 0. */
FACT(an_infinite_variance_gives_an_infinite_loss)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    adz_gaussian_nll_loss_options o = ADZ_GAUSSIAN_NLL_LOSS_OPTIONS;
    o.reduction = ADZ_REDUCE_NONE;
    adz_tensor *x = LEAF(1, 2, 3), *t = VALUES(ADZ_F64, 0, 0, 0), *var = LEAF(inf, 1, nan);
    adz_tensor *l = adz_gaussian_nll_loss(x, t, var, &o);
    ASSERT_VALUES(l, ADZ_F64, inf, 2, nan);
    ASSERT_VALUES(gradient_of(l, var), ADZ_F64, 0, -1.5, nan);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 0, 2, nan);
}

FACT(a_negative_variance_is_named)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2), *var = VALUES(ADZ_F32, 1, -0.5);
    ASSERT_REFUSED(adz_gaussian_nll_loss(x, x, var, NULL), ADZ_ERR_ARGUMENT, "element, -0.5");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_variances_count_as_eps),
    cmocka_unit_test(an_infinite_variance_gives_an_infinite_loss),
    cmocka_unit_test(a_negative_variance_is_named),
};

#define VARIANCE(...) IN_OF(FILL_POSITIVE, __VA_ARGS__)

const op_case gaussian_nll_loss_case = {
    .name = "gaussian_nll_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4), VARIANCE(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0, 1e-6 } },
        { .in = { IN_T(3, 4), IN(3, 4), VARIANCE(3, 1) }, .p = { ADZ_REDUCE_SUM, 1, 1e-6 } },
        { .in = { IN(3, 4), IN_T(3, 4), VARIANCE(3) }, .p = { ADZ_REDUCE_NONE, 0, 1e-6 } },
        { .in = { IN(2, 3), IN(3), VARIANCE(2, 3) }, .p = { ADZ_REDUCE_NONE, 1, 1e-6 } },
        { .in = { IN(0, 3), IN(0, 3), VARIANCE(0, 3) }, .p = { ADZ_REDUCE_SUM, 0, 1e-6 } },
        { .in = { IN_CONST(3, 1), IN(3, 1), VARIANCE(3, 1) }, .p = { ADZ_REDUCE_MEAN, 0, 1e-6 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 4), VARIANCE(4) }, .p = { ADZ_REDUCE_MEAN, 0, 1e-6 }, .status = ADZ_ERR_SHAPE, .says = "var[4] must have the shape of x[3, 4]" },
        { .in = { IN(3, 4), IN(3), VARIANCE(3, 4) }, .p = { ADZ_REDUCE_MEAN, 0, 1e-6 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3), VARIANCE(3) }, .p = { 7, 0, 1e-6 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3), IN(3), VARIANCE(3) }, .p = { ADZ_REDUCE_MEAN, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is 0" },
        { .in = { IN(3), IN_TYPED(ADZ_I64, 3), VARIANCE(3) }, .p = { ADZ_REDUCE_MEAN, 0, 1e-6 }, .status = ADZ_ERR_DTYPE, .says = "target[3] is int64" },
    },
    .broadcasts = true,
    .vectors = { "gaussian_nll_loss" },
    .inputs = { "x", "target", "var" },
    .config = config,
    FACTS(facts),
};
