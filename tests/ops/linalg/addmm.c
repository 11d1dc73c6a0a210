#include "ops/facts.h"

/* p[0] = beta, p[1] = alpha */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_addmm(a->in[0], a->in[1], a->in[2], a->p[0], a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "beta", 1);
    a->p[1] = config_number(config, "alpha", 1);
    return true;
}

FACT(beta_zero_drops_nan)
{
    adz_tensor *one = adz_ones(ADZ_SHAPE(1, 1), ADZ_F64);
    adz_tensor *y = adz_addmm(adz_full(ADZ_SHAPE(1), NAN, ADZ_F64), one, one, 0, 3);
    assert_true(adz_item(y) == 3);
}

FACT(integers_take_whole_factors)
{
    adz_tensor *two = adz_full(ADZ_SHAPE(1, 1), 2, ADZ_I64);
    assert_int_equal(adz_item_i64(adz_addmm(two, two, two, 3, 2)), 14);
    ASSERT_REFUSED(adz_addmm(two, two, two, 1, 0.5), ADZ_ERR_ARGUMENT, "alpha");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(beta_zero_drops_nan),
    cmocka_unit_test(integers_take_whole_factors),
};

const op_case addmm_case = {
    .name = "addmm",
    .call = call,
    .samples = {
        { .in = { IN(3, 2), IN(3, 4), IN(4, 2) }, .p = { 1, 1 } },
        { .in = { IN_T(3, 2), IN_T(3, 4), IN_T(4, 2) }, .p = { -0.5, 2 } },
        { .in = { IN(2), IN(3, 4), IN(4, 2) }, .p = { 2, 1 } },
        { .in = { IN(3, 1), IN(3, 4), IN(4, 2) }, .p = { 1, 0.5 } },
        { .in = { IN_0, IN(1, 1), IN(1, 1) }, .p = { 1, 1 } },
        { .in = { IN(3, 2), IN(3, 0), IN(0, 2) }, .p = { 2, 1 } },
        { .in = { IN(2), IN(0, 4), IN(4, 2) }, .p = { 1, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 2), IN(3, 4), IN(5, 2) }, .p = { 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "b[5, 2]" },
        { .in = { IN(3), IN(3, 4), IN(4, 2) }, .p = { 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN(2), IN(1, 3, 4), IN(4, 2) }, .p = { 1, 1 }, .status = ADZ_ERR_SHAPE },
    },
    .broadcasts = true,
    .vectors = { "addmm" },
    .inputs = { "c", "a", "b" },
    .config = config,
    FACTS(facts),
};
