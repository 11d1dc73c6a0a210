/* Failures of one rank, and of the transport. */
#include "ranks.h"

#include "base/alloc.h"

static void one_fails(adz_group *group, void *user)
{
    const int odd = *(const int *)user;
    const bool fails = adz_group_rank(group) == odd;
    char says[64];
    snprintf(says, sizeof says, "rank %d of %d (threads) failed: ", odd, adz_group_size(group));
    adz_tensor *t = adz_ones(ADZ_SHAPE(4), ADZ_F32);
    check(adz_group_all_reduce(group, fails ? NULL : t, ADZ_GROUP_SUM) == ADZ_ERR_NULL);
    check_error(ADZ_ERR_NULL, fails ? "tensor is NULL" : says);

    adz_tensor *half = adz_to(t, ADZ_F16);
    check(adz_group_all_reduce(group, fails ? half : t, ADZ_GROUP_SUM) == ADZ_ERR_DTYPE);
    check_error(ADZ_ERR_DTYPE, fails ? "convert it" : says);

    adz_tensor *leaf = adz_requires_grad_(adz_ones(ADZ_SHAPE(4), ADZ_F32), true);
    check(adz_group_broadcast(group, fails ? leaf : t, 0) == ADZ_ERR_INPLACE);
    check_error(ADZ_ERR_INPLACE, fails ? "ADZ_NO_GRAD" : says);

    if (fails) {
        adz_error_set("the program", ADZ_ERR_NUMERIC, "the loss is NaN");
    }
    check(adz_group_barrier(group) == ADZ_ERR_NUMERIC);
    check_error(ADZ_ERR_NUMERIC, fails ? "the loss is NaN" : says);

    check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
    check(adz_item(adz_select(t, 0, 0)) == adz_group_size(group));
}

static void one_rank_fails_on_all(void **state)
{
    (void)state;
    for (int odd = 0; odd < 5; ++odd) {
        run_ranks(5, NULL, one_fails, &odd);
    }
}

/* Refuses the Nth request for memory on one rank, for every N, in each collective. */
static void refuse(adz_group *group, void *user)
{
    const bool fails = adz_group_rank(group) == 1;
    (void)user;
    for (int which = 0; which < 3; ++which) {
        for (int64_t nth = 1, over = 0; !over; ++nth) {
            adz_scope *scope = adz_scope_open();
            adz_tensor *t = adz_transpose(adz_ones(ADZ_SHAPE(3, 3), ADZ_F32), 0, 1);
            adz_tensor *reached = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I32);
            adzi_alloc_fail_at(fails ? nth : 0);
            const bool worked = which == 0 ? adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK
                                : which == 1
                                    ? adz_group_all_gather(group, t) != NULL
                                    : adz_group_reduce_scatter(group, t, ADZ_GROUP_MAX) != NULL;
            const bool refused = fails && adzi_alloc_failed();
            adzi_alloc_fail_at(0);
            if (!worked) {
                check_error(ADZ_ERR_MEMORY, fails ? "memory" : "rank 1 of 3 (threads) failed: ");
                check(adz_tensor_at(t, (int64_t[]){ 2, 1 }) == 1);
            }
            *(int32_t *)adz_tensor_data(reached) = refused;
            check(adz_group_broadcast(group, reached, 1) == ADZ_OK);
            check(worked == (adz_item(reached) == 0));
            over = adz_item(reached) == 0;
            check(!over || nth > 1);
            adz_scope_close(scope);
        }
    }
}

static void refused_memory_leaves_nobody_waiting(void **state)
{
    (void)state;
    run_ranks(3, NULL, refuse, NULL);
}

static void until_it_dies(adz_group *group, void *user)
{
    const network *behaviour = user;
    adz_status status = ADZ_OK;
    for (int i = 0; i < 20 && status == ADZ_OK; ++i) {
        adz_tensor *t = adz_ones(ADZ_SHAPE(5000), ADZ_F32);
        status = adz_group_all_reduce(group, t, ADZ_GROUP_SUM);
    }
    check(status == ADZ_ERR_IO);
    check_error(ADZ_ERR_IO, behaviour->silent ? "gave no reason" : "the cable was cut");
    check(adz_group_barrier(group) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, behaviour->silent ? "gave no reason" : "the cable was cut");
    check(adz_group_progress(group) == ADZ_ERR_STATE);
    check_error(ADZ_ERR_STATE, "cannot be used any more");
}

static void a_dead_transport_ends_the_group(void **state)
{
    (void)state;
    for (int at = 1; at < 12; ++at) {
        network behaviour = { .dies = at % 3, .dies_at = at, .silent = at % 2 == 0 };
        run_ranks(3, &behaviour, until_it_dies, &behaviour);
    }
}

const struct CMUnitTest faults_tests[] = {
    cmocka_unit_test(one_rank_fails_on_all),
    cmocka_unit_test(refused_memory_leaves_nobody_waiting),
    cmocka_unit_test(a_dead_transport_ends_the_group),
};
const size_t n_faults_tests = sizeof faults_tests / sizeof *faults_tests;
