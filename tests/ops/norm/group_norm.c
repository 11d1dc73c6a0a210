#include "ops/facts.h"

/* p[0] = num_groups, p[1] = eps */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_group_norm(a->in[0], (int64_t)a->p[0], a->in[1], a->in[2], a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "num_groups", 1);
    a->p[1] = config_number(config, "eps", 1e-5);
    return true;
}

/* One group is a layer norm of all channels, and as many groups as channels an instance norm. */
FACT(the_extremes_are_other_norms)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 3), ADZ_F64), *none = ADZ_NONE;
    adz_tensor *all = adz_layer_norm(x, ADZ_SHAPE(4, 3), none, none, 1e-5);
    assert_true(adz_allclose(adz_group_norm(x, 1, none, none, 1e-5), all, 0, 1e-12, false));
    adz_tensor *each = adz_instance_norm(x, none, none, none, none, true, 0.1, 1e-5);
    assert_true(adz_allclose(adz_group_norm(x, 4, none, none, 1e-5), each, 0, 1e-12, false));
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_extremes_are_other_norms) };

const op_case group_norm_case = {
    .name = "group_norm",
    .call = call,
    .samples = {
        { .in = { IN(2, 4, 3), IN(4), IN(4) }, .p = { 2, 1e-5 } },
        { .in = { IN_T(2, 6, 2, 2), IN(6), IN_NONE }, .p = { 3, 1e-3 } },
        { .in = { IN(2, 3, 4), IN_NONE, IN(3) }, .p = { 1, 1e-5 } },
        { .in = { IN(3, 4), IN_NONE, IN_NONE }, .p = { 2, 1e-5 } },
        { .in = { IN(1, 2, 5), IN(2), IN(2) }, .p = { 2, 0.1 } },
        { .in = { IN(0, 4, 3), IN(4), IN(4) }, .p = { 2, 1e-5 } },
    },
    .rejects = {
        { .in = { IN(4), IN_NONE, IN_NONE }, .p = { 1, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "[N, C, ...]" },
        { .in = { IN(2, 4, 3), IN_NONE, IN_NONE }, .p = { 3, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "3 groups do not divide the 4 channels" },
        { .in = { IN(2, 4, 3), IN_NONE, IN_NONE }, .p = { 0, 1e-5 }, .status = ADZ_ERR_ARGUMENT, .says = "0 groups" },
        { .in = { IN(2, 4, 3), IN(3), IN_NONE }, .p = { 2, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "weight[3]" },
        { .in = { IN(1, 4), IN_NONE, IN_NONE }, .p = { 4, 1e-5 }, .status = ADZ_ERR_SHAPE, .says = "single value" },
        { .in = { IN(2, 4, 3), IN_NONE, IN_NONE }, .p = { 2, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is -1" },
        { .in = { IN_TYPED(ADZ_I64, 2, 4, 3), IN_NONE, IN_NONE }, .p = { 2, 1e-5 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "group_norm" },
    .inputs = { "x", "weight", "bias" },
    .config = config,
    FACTS(facts),
};
