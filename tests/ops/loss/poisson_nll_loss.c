#include "ops/facts.h"

/* p[0] = reduction, p[1] = log_input, p[2] = full, p[3] = eps */
static int call(const op_args *a, adz_tensor **out)
{
    adz_poisson_nll_loss_options o = ADZ_POISSON_NLL_LOSS_OPTIONS;
    o.reduction = (adz_reduction)a->p[0];
    o.log_input = a->p[1] != 0;
    o.full = a->p[2] != 0;
    o.eps = a->p[3];
    return case_one(adz_poisson_nll_loss(a->in[0], a->in[1], &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_flag(config, "log_input", true);
    a->p[2] = config_flag(config, "full", false);
    a->p[3] = config_number(config, "eps", 1e-8);
    return true;
}

FACT(counts_of_zero_have_no_factorial)
{
    adz_poisson_nll_loss_options o;
    adz_poisson_nll_loss_options_init(&o, sizeof o);
    o.reduction = ADZ_REDUCE_NONE;
    o.full = true;
    adz_tensor *x = LEAF(0, 0, 0), *t = LEAF(0, 1, 4);
    adz_tensor *l = adz_poisson_nll_loss(x, t, &o);
    const double pi = acos(-1);
    ASSERT_VALUES(adz_narrow(l, 0, 0, 2), ADZ_F64, 1, 1);
    assert_true(
        fabs(adz_item(adz_select(l, 0, 2)) - (1 + 4 * log(4) - 4 + log(8 * pi) / 2)) <= 1e-14);
    ASSERT_VALUES(gradient_of(l, x), ADZ_F64, 1, 0, -3);
    adz_tensor *dt = gradient_of(l, t);
    ASSERT_VALUES(adz_narrow(dt, 0, 0, 2), ADZ_F64, 0, 0);
    assert_true(fabs(adz_item(adz_select(dt, 0, 2)) - (log(4) + 0.125)) <= 1e-14);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(counts_of_zero_have_no_factorial) };

#define POSITIVE(...) IN_OF(FILL_POSITIVE, __VA_ARGS__)

const op_case poisson_nll_loss_case = {
    .name = "poisson_nll_loss",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), POSITIVE(3, 4) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 1e-8 } },
        { .in = { POSITIVE(3, 4), IN_T_OF(FILL_POSITIVE, 3, 4) }, .p = { ADZ_REDUCE_SUM, 0, 0, 1e-3 } },
        { .in = { IN(3, 4), POSITIVE(4) }, .p = { ADZ_REDUCE_NONE, 1, 0, 1e-8 } },
        { .in = { IN(2, 3), POSITIVE(2, 3) }, .p = { ADZ_REDUCE_NONE, 1, 1, 1e-8 } },
        { .in = { IN_0, IN_0_OF(FILL_POSITIVE) }, .p = { ADZ_REDUCE_MEAN, 1, 1, 0 } },
        { .in = { IN(0, 3), POSITIVE(0, 3) }, .p = { ADZ_REDUCE_SUM, 1, 1, 1e-8 } },
        { .in = { IN(3, 1), POSITIVE(3, 1) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 1e-8 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN(3) }, .p = { 7, 1, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(3), IN(3) }, .p = { ADZ_REDUCE_MEAN, 1, 0, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is -1" },
        { .in = { IN(3), IN_TYPED(ADZ_I64, 3) }, .p = { ADZ_REDUCE_MEAN, 1, 0, 0 }, .status = ADZ_ERR_DTYPE, .says = "target[3] is int64" },
    },
    .broadcasts = true,
    .vectors = { "poisson_nll_loss" },
    .inputs = { "x", "target" },
    .config = config,
    FACTS(facts),
};
