/* Gathering slices of any sizes. */
#include "ranks.h"

#include "distributed/data_parallel.h"

enum { MANY = 21, SLICE = 100 };

/* Sizes from 0 on. Several ranks have nothing. */
static size_t size_of_slice(int rank, int round)
{
    return rank % 4 == round % 4 ? 0 : (size_t)((rank * 7 + round * 13) % SLICE);
}

static void gather(adz_group *group, void *user)
{
    const int n = adz_group_size(group), me = adz_group_rank(group);
    (void)user;
    for (int round = 0; round < 5; ++round) {
        size_t begin[MANY + 1] = { 0 };
        unsigned char data[MANY * SLICE], expected[MANY * SLICE];
        for (int r = 0; r < n; ++r) {
            begin[r + 1] = begin[r] + size_of_slice(r, round);
            for (size_t i = begin[r]; i < begin[r + 1]; ++i) {
                expected[i] = (unsigned char)(31 * r + 7 * round + (int)i);
            }
        }
        memset(data, 0, sizeof data);
        memcpy(data + begin[me], expected + begin[me], begin[me + 1] - begin[me]);
        check(adzi_gather_slices("test", group, data, begin, ADZI_TAG_FREE) == ADZ_OK);
        check(memcmp(data, expected, begin[n]) == 0);
        check(data[begin[n]] == 0);
        check(((adz_group *)group)->under_way == NULL);
    }
}

static void slices_reach_every_rank(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; ++n) {
        run_ranks(n, NULL, gather, NULL);
    }
    run_ranks(MANY, NULL, gather, NULL);
    run_ranks(5, &(network){ .delays = 3, .largest = 11 }, gather, NULL);
}

/* Exchanges of a call that fails are taken out of the group's list: they lie on the stack. */
static void gather_until_it_fails(adz_group *group, void *user)
{
    size_t begin[9] = { 0 };
    char data[8 * 64] = { 0 };
    adz_status status = ADZ_OK;
    (void)user;
    for (int r = 0; r < adz_group_size(group); ++r) {
        begin[r + 1] = begin[r] + 64;
    }
    for (int i = 0; i < 20 && status == ADZ_OK; ++i) {
        status = adzi_gather_slices("test", group, data, begin, ADZI_TAG_FREE);
    }
    check(status == ADZ_ERR_IO && group->under_way == NULL);
    check_error(ADZ_ERR_IO, "the cable was cut");
}

static void a_failed_gather_leaves_no_exchange_behind(void **state)
{
    (void)state;
    for (int at = 1; at < 30; at += 4) {
        network behaviour = { .dies = 3, .dies_at = at };
        run_ranks(8, &behaviour, gather_until_it_fails, NULL);
    }
}

const struct CMUnitTest slices_tests[] = {
    cmocka_unit_test(slices_reach_every_rank),
    cmocka_unit_test(a_failed_gather_leaves_no_exchange_behind),
};
const size_t n_slices_tests = sizeof slices_tests / sizeof *slices_tests;
