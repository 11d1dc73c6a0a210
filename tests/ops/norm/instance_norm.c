#include "ops/facts.h"

/* p[0] = use_input_stats, p[1] = momentum, p[2] = eps. The results are y and copies of the running
 * statistics after the call, where there are any. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *mean = a->in[1] == ADZ_NONE ? ADZ_NONE : adz_clone(a->in[1]);
    adz_tensor *var = a->in[2] == ADZ_NONE ? ADZ_NONE : adz_clone(a->in[2]);
    out[0] =
        adz_instance_norm(a->in[0], mean, var, a->in[3], a->in[4], a->p[0] != 0, a->p[1], a->p[2]);
    out[1] = mean;
    out[2] = var;
    return out[0] == NULL ? 0 : mean == ADZ_NONE ? 1 : 3;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "use_input_stats", true);
    a->p[1] = config_number(config, "momentum", 0.1);
    a->p[2] = config_number(config, "eps", 1e-5);
    return true;
}

/* Running statistics follow the means over the samples; the variance is the unbiased one. */
FACT(running_statistics_follow_the_samples)
{
    adz_tensor *x = adz_tensor_from((double[]){ 1, 3, 5, 11 }, ADZ_SHAPE(2, 1, 2), ADZ_F64);
    adz_tensor *mean = VALUES(ADZ_F64, 1), *var = VALUES(ADZ_F64, 0);
    assert_non_null(adz_instance_norm(x, mean, var, ADZ_NONE, ADZ_NONE, true, 0.5, 0));
    ASSERT_VALUES(mean, ADZ_F64, 3);
    ASSERT_VALUES(var, ADZ_F64, 5);
    adz_tensor *y = adz_instance_norm(x, mean, var, ADZ_NONE, ADZ_NONE, false, 0.5, 0);
    assert_true(adz_allclose(adz_reshape(y, ADZ_SHAPE(4)),
        VALUES(ADZ_F64, -2 / sqrt(5), 0, 2 / sqrt(5), 8 / sqrt(5)), 0, 1e-14, false));
    ASSERT_VALUES(mean, ADZ_F64, 3);
}

FACT(an_empty_batch_moves_nothing)
{
    adz_tensor *mean = VALUES(ADZ_F64, 1), *var = VALUES(ADZ_F64, 2);
    adz_tensor *x = adz_ones(ADZ_SHAPE(0, 1, 2), ADZ_F64);
    assert_non_null(adz_instance_norm(x, mean, var, ADZ_NONE, ADZ_NONE, true, 0.5, 0));
    ASSERT_VALUES(mean, ADZ_F64, 1);
    ASSERT_VALUES(var, ADZ_F64, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(running_statistics_follow_the_samples),
    cmocka_unit_test(an_empty_batch_moves_nothing),
};

#define STAT(n) IN_CONST_OF(FILL_POSITIVE, n)

const op_case instance_norm_case = {
    .name = "instance_norm",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 4), IN_NONE, IN_NONE, IN(3), IN(3) }, .p = { 1, 0.1, 1e-5 } },
        { .in = { IN_T(2, 3, 2, 2), STAT(3), STAT(3), IN(3), IN_NONE }, .p = { 1, 0.3, 1e-3 } },
        { .in = { IN(2, 3, 2, 2), STAT(3), STAT(3), IN(3), IN(3) }, .p = { 0, 0.1, 1e-5 } },
        { .in = { IN(1, 2, 5), IN_NONE, IN_NONE, IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 } },
        { .in = { IN(3, 1, 2), IN_NONE, IN_NONE, IN_NONE, IN(1) }, .p = { 1, 0.1, 0.1 } },
        { .in = { IN(0, 3, 4), STAT(3), STAT(3), IN(3), IN(3) }, .p = { 1, 0.1, 1e-5 } },
    },
    .rejects = {
        { .in = { IN(2, 3), IN_NONE, IN_NONE, IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "three dimensions" },
        { .in = { IN(2, 3, 1), IN_NONE, IN_NONE, IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "single value" },
        { .in = { IN(2, 3, 4), IN_NONE, IN_NONE, IN_NONE, IN_NONE }, .p = { 0, 0.1, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "use_input_stats" },
        { .in = { IN(2, 3, 4), STAT(3), IN_NONE, IN_NONE, IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "together" },
        { .in = { IN(2, 3, 4), IN_NONE, IN_NONE, IN(2), IN_NONE }, .p = { 1, 0.1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "weight[2]" },
        { .in = { IN(2, 3, 4), IN_NONE, IN_NONE, IN_NONE, IN_NONE }, .p = { 1, 2, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "momentum is 2" },
    },
    .vectors = { "instance_norm" },
    .inputs = { "x", "running_mean", "running_var", "weight", "bias" },
    .outputs = { "y", "running_mean", "running_var" },
    .config = config,
    FACTS(facts),
};
