#include "ops/facts.h"

/* p[0] = shift, p[1] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_roll(a->in[0], (int64_t)a->p[0], (int)a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "shift", 0);
    a->p[1] = config_number(config, "dim", 0);
    return true;
}

FACT(elements_come_in_at_the_other_end)
{
    adz_tensor *x = VALUES(ADZ_I64, 1, 2, 3, 4);
    ASSERT_VALUES(adz_roll(x, 1, 0), ADZ_I64, 4, 1, 2, 3);
    ASSERT_VALUES(adz_roll(x, -1, 0), ADZ_I64, 2, 3, 4, 1);
    ASSERT_VALUES(adz_roll(x, 0, 0), ADZ_I64, 1, 2, 3, 4);
    ASSERT_VALUES(adz_roll(x, 4 * 1000 + 1, -1), ADZ_I64, 4, 1, 2, 3);
    ASSERT_VALUES(adz_roll(x, INT64_MIN, 0), ADZ_I64, 1, 2, 3, 4);
}

FACT(the_gradient_is_rolled_back)
{
    adz_tensor *x = LEAF(1, 2, 3), *weight = VALUES(ADZ_F64, 10, 20, 30);
    ASSERT_VALUES(gradient_of(adz_mul(adz_roll(x, 1, 0), weight), x), ADZ_F64, 20, 30, 10);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(elements_come_in_at_the_other_end),
    cmocka_unit_test(the_gradient_is_rolled_back),
};

const op_case roll_case = {
    .name = "roll",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 2, 0 } },
        { .in = { IN_T(5, 4) }, .p = { -1, 1 } },
        { .in = { IN(2, 6, 3) }, .p = { 8, -2 } },
        { .in = { IN(6) }, .p = { 0, 0 } },
        { .in = { IN(1, 3) }, .p = { 1, 0 } },
        { .in = { IN(3, 0) }, .p = { 1, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_0 }, .p = { 1, 0 }, .status = ADZ_ERR_DIM, .says = "scalar" },
    },
    .first_order_only = true,
    .vectors = { "roll" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
