#include "ops/facts.h"

/* p[0] = rank, p[1] .. = repeats */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_repeat(a->in[0], case_shape(a, 0)), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_shape(config, "repeats", a, 0);
    return true;
}

FACT(copies_stand_side_by_side_in_memory_of_their_own)
{
    adz_tensor *x = VALUES(ADZ_I32, 1, 2), *y = adz_repeat(x, ADZ_SHAPE(2));
    ASSERT_VALUES(y, ADZ_I32, 1, 2, 1, 2);
    y = adz_repeat(x, ADZ_SHAPE(1));
    adz_zero_(y);
    ASSERT_VALUES(x, ADZ_I32, 1, 2);
    y = adz_repeat(adz_scalar(3, ADZ_F32), ADZ_SHAPE(4));
    adz_fill_(adz_select(y, 0, 0), 9);
    ASSERT_VALUES(y, ADZ_F32, 9, 3, 3, 3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(copies_stand_side_by_side_in_memory_of_their_own),
};

const op_case repeat_case = {
    .name = "repeat",
    .call = call,
    .samples = {
        { .in = { IN(2, 3) }, .p = { 2, 2, 3 } },
        { .in = { IN_T(2, 3) }, .p = { 3, 2, 1, 2 } },
        { .in = { IN(4) }, .p = { 1, 3 } },
        { .in = { IN(2, 3) }, .p = { 2, 1, 1 } },
        { .in = { IN_0 }, .p = { 2, 2, 2 } },
        { .in = { IN(1, 3) }, .p = { 2, 4, 1 } },
        { .in = { IN(0, 3) }, .p = { 2, 2, 2 } },
        { .in = { IN(2, 3) }, .p = { 2, 0, 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 2 }, .status = ADZ_ERR_SHAPE, .says = "repeats [2]" },
        { .in = { IN(3) }, .p = { 1, -1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3) }, .p = { 1, 4e18 }, .status = ADZ_ERR_SHAPE, .says = "fit" },
    },
    .first_order_only = true,
    .vectors = { "repeat" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
