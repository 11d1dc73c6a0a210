/* Exchanges that are under way while the program goes on: what data-parallel training rests on. */
#include "ranks.h"

#include "distributed/group.h"
#include "distributed/join.h"

enum { N = 4096, ROUNDS = 3, BUCKETS = 3 };

/* One bucket, summed over eight ranks by recursive halving and doubling. Each exchange starts the
 * next one when it ends, so the caller only lets it go on. */
typedef struct {
    adzi_exchange exchange;
    adz_group *group;
    float data[N], received[N / 2];
    int round, tag;
    int64_t begin, count; /* the range that this rank still adds up */
    bool done;
} bucket;

static void next_round(bucket *b);

static void ended(adzi_exchange *exchange, void *user)
{
    bucket *b = user;
    check(exchange->status == ADZ_OK);
    if (b->round < ROUNDS) {
        const bool low = (adz_group_rank(b->group) & (1 << b->round)) == 0;
        float *mine = b->data + b->begin;
        if (low) {
            adzi_join(ADZ_GROUP_SUM, ADZ_F32, mine, b->received, b->count);
        } else {
            adzi_join(ADZ_GROUP_SUM, ADZ_F32, b->received, mine, b->count);
            memcpy(mine, b->received, (size_t)b->count * sizeof(float));
        }
    }
    b->round += 1;
    next_round(b);
}

static void next_round(bucket *b)
{
    if (b->round == 2 * ROUNDS) {
        b->done = true;
        return;
    }
    const bool halves = b->round < ROUNDS;
    const int bit = 1 << (halves ? b->round : 2 * ROUNDS - 1 - b->round);
    const int me = adz_group_rank(b->group), partner = me ^ bit;
    const int64_t half = halves ? b->count / 2 : b->count;
    /* Of two partners the lower one keeps the first half. */
    const bool first = (me & bit) == 0;
    const int64_t mine = halves ? b->begin + (first ? 0 : half) : b->begin;
    const int64_t theirs =
        halves ? b->begin + (first ? half : 0) : b->begin + (first ? half : -half);
    const adzi_transfer t = { .to = partner,
        .from = partner,
        .send = b->data + (halves ? theirs : mine),
        .send_bytes = (size_t)half * sizeof(float),
        .receive = halves ? b->received : b->data + theirs,
        .receive_bytes = (size_t)half * sizeof(float),
        .tag = b->tag };
    b->begin = halves || first ? mine : theirs;
    b->count = halves ? half : 2 * half;
    b->exchange.then = ended;
    b->exchange.user = b;
    check(adzi_exchange_start("test", b->group, &b->exchange, &t) == ADZ_OK);
}

static void overlap(adz_group *group, void *user)
{
    static _Thread_local bucket buckets[BUCKETS];
    const int me = adz_group_rank(group);
    (void)user;
    for (int k = 0; k < BUCKETS; ++k) {
        bucket *b = &buckets[k];
        *b = (bucket){ .group = group, .tag = ADZI_TAG_FREE + k, .count = N };
        for (int i = 0; i < N; ++i) {
            b->data[i] = (float)element(me, k * N + i);
        }
        next_round(b);
        check(adz_group_progress(group) == ADZ_OK);
    }
    /* Collectives may run between, and let the exchanges go on while they wait. */
    for (int k = BUCKETS - 1; k >= 0; --k) {
        adz_tensor *t = adz_empty(ADZ_SHAPE(N), ADZ_F32);
        for (int i = 0; i < N; ++i) {
            adz_tensor_data_f32(t)[i] = (float)element(me, k * N + i);
        }
        check(adz_group_all_reduce(group, t, ADZ_GROUP_SUM) == ADZ_OK);
        while (!buckets[k].done && adz_group_progress(group) == ADZ_OK) {
        }
        check(memcmp(buckets[k].data, adz_tensor_data(t), sizeof buckets[k].data) == 0);
    }
    check(group->under_way == NULL);
}

static void halving_and_doubling_give_the_bits_of_all_reduce(void **state)
{
    (void)state;
    run_ranks(8, NULL, overlap, NULL);
    run_ranks(8, &(network){ .delays = 9, .largest = 1000 }, overlap, NULL);
}

static void wait_in_turn(adz_group *group, void *user)
{
    const int me = adz_group_rank(group), other = 1 - me;
    adzi_exchange a = { .then = NULL }, b = { .then = NULL };
    int got[2] = { 0, 0 };
    const int mine[2] = { 10 + me, 20 + me };
    (void)user;
    const adzi_transfer one = { other, &mine[0], sizeof(int), other, &got[0], sizeof(int), 30 };
    const adzi_transfer two = { other, &mine[1], sizeof(int), other, &got[1], sizeof(int), 31 };
    check(adzi_exchange_start("test", group, &a, &one) == ADZ_OK);
    check(adzi_exchange_start("test", group, &b, &two) == ADZ_OK);
    check(adzi_exchange_wait("test", me == 0 ? &a : &b) == ADZ_OK);
    bool done = false;
    while (!done) {
        check(adzi_exchange_test("test", me == 0 ? &b : &a, &done) == ADZ_OK);
    }
    check(got[0] == 10 + other && got[1] == 20 + other && group->under_way == NULL);
}

static void exchanges_end_in_any_order(void **state)
{
    (void)state;
    run_ranks(2, &(network){ .delays = 4 }, wait_in_turn, NULL);
}

const struct CMUnitTest exchanges_tests[] = {
    cmocka_unit_test(halving_and_doubling_give_the_bits_of_all_reduce),
    cmocka_unit_test(exchanges_end_in_any_order),
};
const size_t n_exchanges_tests = sizeof exchanges_tests / sizeof *exchanges_tests;
