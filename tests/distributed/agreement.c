/* Ranks that call different things: every rank gets an error, none waits, and all can go on. */
#include "ranks.h"

/* After an error that was agreed on, the group works as before. */
static void works(adz_group *group)
{
    adz_tensor *t = adz_ones(ADZ_SHAPE(5), ADZ_F32);
    check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
    check(adz_item(adz_select(t, 0, 4)) == adz_group_size(group));
}

static void differ(adz_group *group, void *user)
{
    const bool odd = adz_group_rank(group) == adz_group_size(group) - 1;
    (void)user;
    adz_tensor *three = adz_ones(ADZ_SHAPE(3), ADZ_F32), *four = adz_ones(ADZ_SHAPE(2, 2), ADZ_F32);
    adz_tensor *wide = adz_ones(ADZ_SHAPE(3), ADZ_F64);
    check(adz_group_all_reduce(group, odd ? four : three, ADZ_GROUP_SUM) == ADZ_ERR_SHAPE);
    check_error(ADZ_ERR_SHAPE, "adz_group_all_reduce: the ranks differ in their shapes: rank ");
    check(adz_group_all_reduce(group, odd ? wide : three, ADZ_GROUP_SUM) == ADZ_ERR_DTYPE);
    check_error(ADZ_ERR_DTYPE, " has float32, rank ");
    check(adz_group_all_reduce(group, three, odd ? ADZ_GROUP_MEAN : ADZ_GROUP_SUM) < 0);
    check_error(ADZ_ERR_ARGUMENT, " has ADZ_GROUP_SUM, rank ");
    check(adz_group_broadcast(group, three, odd) == ADZ_ERR_ARGUMENT);
    check_error(ADZ_ERR_ARGUMENT, " has source 0, rank ");
    check(adz_equal(three, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    works(group);
}

static void the_first_difference_is_named(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ++ranks) {
        run_ranks(ranks, &(network){ .delays = 3 }, differ, NULL);
    }
}

static void call_others(adz_group *group, void *user)
{
    const bool odd = adz_group_rank(group) == *(const int *)user;
    adz_tensor *t = adz_ones(ADZ_SHAPE(4, 2), ADZ_F32);
    if (odd) {
        check(adz_group_all_gather(group, t) == NULL);
    } else {
        check(adz_group_barrier(group) == ADZ_ERR_STATE);
    }
    check_error(ADZ_ERR_STATE, "the ranks call different functions");
    if (odd) {
        check(adz_group_reduce_scatter(group, t, ADZ_GROUP_SUM) == NULL);
    } else {
        check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_ERR_STATE);
    }
    check_error(ADZ_ERR_STATE, "adz_group_reduce_scatter");
    works(group);
}

static void different_functions(void **state)
{
    (void)state;
    for (int odd = 0; odd < 4; ++odd) {
        run_ranks(4, NULL, call_others, &odd);
    }
}

static void compare_texts(adz_group *group, void *user)
{
    const bool odd = adz_group_rank(group) == 2;
    char text[1000];
    (void)user;
    check(adz_group_agree(group, "the seed", "17") == ADZ_OK);
    check(adz_group_agree(group, "the seed", odd ? "18" : "17") == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "the ranks differ in the seed: rank 0 has 17, rank 2 18");
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    check(adz_group_agree(group, "a long text", text) == ADZ_OK);
    text[900] = odd ? 'b' : 'a';
    check(adz_group_agree(group, "a long text", text) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "differs after");
    check(adz_group_agree(group, odd ? "one" : "two", "x") == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "in what they compare");
    check(adz_group_agree(group, "a", odd ? NULL : "x") == ADZ_ERR_NULL);
    check_error(
        ADZ_ERR_NULL, odd ? "adz_group_agree: value is NULL" : "rank 2 of 4 (threads) failed");
    works(group);
}

static void texts_are_compared(void **state)
{
    (void)state;
    run_ranks(4, NULL, compare_texts, NULL);
}

static void leave(adz_group *group, void *user)
{
    (void)user;
    if (adz_group_rank(group) == 1) {
        return; /* run_ranks ends its group */
    }
    check(adz_group_barrier(group) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "adz_group_free");
    check(adz_group_barrier(group) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "cannot be used any more");
}

static void a_rank_that_leaves_is_noticed(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 5; ++ranks) {
        run_ranks(ranks, NULL, leave, NULL);
    }
}

const struct CMUnitTest agreement_tests[] = {
    cmocka_unit_test(the_first_difference_is_named),
    cmocka_unit_test(different_functions),
    cmocka_unit_test(texts_are_compared),
    cmocka_unit_test(a_rank_that_leaves_is_noticed),
};
const size_t n_agreement_tests = sizeof agreement_tests / sizeof *agreement_tests;
