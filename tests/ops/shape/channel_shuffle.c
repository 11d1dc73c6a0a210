#include "ops/facts.h"

/* p[0] = groups */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_channel_shuffle(a->in[0], (int64_t)a->p[0]), out);
}

FACT(channels_of_the_groups_take_turns)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I64, 0, 1, 2, 3, 4, 5), ADZ_SHAPE(1, 6, 1));
    ASSERT_VALUES(adz_reshape(adz_channel_shuffle(x, 2), ADZ_SHAPE(6)), ADZ_I64, 0, 3, 1, 4, 2, 5);
    ASSERT_VALUES(adz_reshape(adz_channel_shuffle(x, 3), ADZ_SHAPE(6)), ADZ_I64, 0, 2, 4, 1, 3, 5);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(channels_of_the_groups_take_turns) };

const op_case channel_shuffle_case = {
    .name = "channel_shuffle",
    .call = call,
    .samples = {
        { .in = { IN(2, 6, 2) }, .p = { 2 } },
        { .in = { IN_T(2, 4, 2, 3) }, .p = { 4 } },
        { .in = { IN(1, 4, 1, 2, 2) }, .p = { 2 } },
        { .in = { IN(2, 3, 2) }, .p = { 1 } },
        { .in = { IN_T(3, 6, 1) }, .p = { 3 } },
        { .in = { IN(2, 0, 2) }, .p = { 3 } },
    },
    .rejects = {
        { .in = { IN(2, 6, 2) }, .p = { 4 }, .status = ADZ_ERR_SHAPE, .says = "groups 4 must divide C" },
        { .in = { IN(2, 6) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "[N, C, ...]" },
        { .in = { IN(2, 6, 2) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "groups is 0" },
    },
    .first_order_only = true,
    FACTS(facts),
};
