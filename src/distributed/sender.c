/* Adding up the gradients of all ranks, bucket by bucket, while the backward goes on.
 *
 * Note [Buckets]
 *
 * A bucket travels when the backward has completed all its gradients and the bucket before it has
 * arrived. Buckets have a fixed order, so that all ranks work on the same one. One bucket travels
 * at a time: more would not make the network faster, and would need more memory.
 *
 * If the ranks are a power of two and each of them holds one node of one level of the tree, the
 * tree is walked by recursive halving and doubling. In round k a rank exchanges one half of its
 * range with the rank whose number differs in bit k, and adds the other half. After log2(n) rounds
 * it has the sum of one n-th of the bucket. The same rounds backwards send the sums to all. A rank
 * sends 2 (n-1)/n of the bucket's bytes in 2 log2(n) messages.
 *
 * For other numbers a rank receives its slice, one n-th of the bucket, of each node that the other
 * ranks hold. It joins the slices to the root of the tree and sends the sum to all. A rank that
 * holds h nodes sends (h + 1) (n-1)/n of the bucket's bytes.
 *
 * Both ways follow the tree, so both give the bits that a single rank computes. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "distributed/data_parallel.h"
#include "distributed/join.h"
#include "tensor/tensor.h"

static const char op_name[] = "adz_data_parallel";

static adzi_bucket *current(const adz_data_parallel *p)
{
    return &p->sender.buckets[p->sender.n_ended];
}

static adz_dtype dtype_of(const adz_data_parallel *p, const adzi_bucket *b)
{
    return (adz_dtype)adz_flat_parameters_gradients(p->flat, b->group)->dtype;
}

/* The bucket's gradients, from its element `at` on: where the sum of all ranks belongs. */
static char *result_at(const adz_data_parallel *p, const adzi_bucket *b, int64_t at)
{
    return adzi_parallel_gradients(p, b->group, b->begin + at);
}

static void end_bucket(adz_data_parallel *p)
{
    ++p->sender.n_ended;
    adzi_sender_go_on(p);
}

/* Starts an exchange with `then`. A failure breaks the group, which the caller of
 * adzi_sender_finish sees. */
static void start(adz_data_parallel *p, size_t position, const adzi_transfer *t,
    void (*then)(adzi_exchange *exchange, void *user))
{
    adzi_exchange *e = &p->sender.exchanges[position];
    if (p->group->broken != ADZ_OK) {
        return; /* the first error stays */
    }
    e->then = then;
    e->user = p;
    p->sender.sent += t->send_bytes;
    adzi_exchange_start(op_name, p->group, e, t);
}

/* ---- recursive halving and doubling --------------------------------------------------------- */

static int rounds_of(const adz_data_parallel *p)
{
    int rounds = 0;
    while (1 << rounds < p->group->size) {
        ++rounds;
    }
    return rounds;
}

static void next_round(adz_data_parallel *p);

/* The half of a range that a rank keeps in a round: the lower one of two partners keeps the first.
 */
static void keep_half(const adz_data_parallel *p, int round, int64_t *begin, int64_t *count)
{
    const int64_t half = *count / 2;
    const bool low = (p->group->rank & 1 << round) == 0;
    *begin += low ? 0 : half;
    *count = low ? half : *count - half;
}

static void round_ended(adzi_exchange *exchange, void *user)
{
    adz_data_parallel *p = user;
    adzi_sender *s = &p->sender;
    const int rounds = rounds_of(p);
    (void)exchange;
    if (s->round < rounds) {
        const adzi_bucket *b = current(p);
        const int64_t begin = s->begin[s->round + 1], count = s->count[s->round + 1];
        char *mine = adzi_parallel_node(p, 0, b->group, b->begin + begin);
        adzi_join(ADZ_GROUP_SUM, dtype_of(p, b), mine, s->received, count);
    }
    ++s->round;
    next_round(p);
}

/* Sends the half that this rank gives up and receives the partner's part of the half that it keeps.
 */
static void halve(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    const adzi_bucket *b = current(p);
    const size_t item = adz_dtype_size(dtype_of(p, b));
    const int k = s->round, partner = p->group->rank ^ 1 << k;
    int64_t begin = s->begin[k], count = s->count[k];
    keep_half(p, k, &begin, &count);
    s->begin[k + 1] = begin;
    s->count[k + 1] = count;
    const int64_t other = begin == s->begin[k] ? begin + count : s->begin[k];
    const adzi_transfer t = { .to = partner,
        .send = adzi_parallel_node(p, 0, b->group, b->begin + other),
        .send_bytes = (size_t)(s->count[k] - count) * item,
        .from = partner,
        .receive = s->received,
        .receive_bytes = (size_t)count * item,
        .tag = ADZI_TAG_HALVES };
    start(p, 0, &t, round_ended);
}

/* Sends the range that is summed, and receives the partner's, so that both have the range from
 * before the round. */
static void exchange_sums(adz_data_parallel *p, int k)
{
    adzi_sender *s = &p->sender;
    const adzi_bucket *b = current(p);
    const size_t item = adz_dtype_size(dtype_of(p, b));
    const int partner = p->group->rank ^ 1 << k;
    const int64_t begin = s->begin[k + 1], count = s->count[k + 1];
    const int64_t other = begin == s->begin[k] ? begin + count : s->begin[k];
    const adzi_transfer t = { .to = partner,
        .send = result_at(p, b, begin),
        .send_bytes = (size_t)count * item,
        .from = partner,
        .receive = result_at(p, b, other),
        .receive_bytes = (size_t)(s->count[k] - count) * item,
        .tag = ADZI_TAG_HALVES };
    start(p, 0, &t, round_ended);
}

static void next_round(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    const int rounds = rounds_of(p);
    if (s->round < rounds) {
        halve(p);
    } else if (s->round < 2 * rounds) {
        exchange_sums(p, 2 * rounds - 1 - s->round);
    } else {
        end_bucket(p);
    }
}

/* ---- slice by slice ------------------------------------------------------------------------- */

static int64_t slice_begin(const adz_data_parallel *p, const adzi_bucket *b, int rank)
{
    const int64_t ranks = p->group->size;
    return b->length / ranks * rank + (rank < b->length % ranks ? rank : b->length % ranks);
}

static int64_t slice_length(const adz_data_parallel *p, const adzi_bucket *b, int rank)
{
    return slice_begin(p, b, rank + 1) - slice_begin(p, b, rank);
}

static void slice_spread(adzi_exchange *exchange, void *user)
{
    adz_data_parallel *p = user;
    (void)exchange;
    if (--p->sender.under_way == 0) {
        end_bucket(p);
    }
}

/* Sends the sum of this rank's slice to all ranks, and receives theirs. */
static void spread(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    const adzi_bucket *b = current(p);
    const int ranks = p->group->size, me = p->group->rank;
    const size_t item = adz_dtype_size(dtype_of(p, b));
    s->under_way = ranks - 1;
    for (int i = 1; i < ranks; ++i) {
        const int to = (me + i) % ranks, from = (me - i + ranks) % ranks;
        const adzi_transfer t = { .to = to,
            .send = result_at(p, b, slice_begin(p, b, me)),
            .send_bytes = (size_t)slice_length(p, b, me) * item,
            .from = from,
            .receive = result_at(p, b, slice_begin(p, b, from)),
            .receive_bytes = (size_t)slice_length(p, b, from) * item,
            .tag = ADZI_TAG_SPREAD };
        start(p, (size_t)i - 1, &t, slice_spread);
    }
}

/* Where this rank's slice of node i of all ranks lies: its own nodes where they are, those of the
 * other ranks among what was received, in order. */
static char *slice_of_node(const adz_data_parallel *p, const adzi_bucket *b, int i)
{
    const int me = p->group->rank, own = p->nodes_begin[me], end = p->nodes_begin[me + 1];
    const int64_t length = slice_length(p, b, me);
    if (i >= own && i < end) {
        return adzi_parallel_node(p, i - own, b->group, b->begin + slice_begin(p, b, me));
    }
    const int position = i < own ? i : i - (end - own);
    return p->sender.received + (size_t)(position * length) * adz_dtype_size(dtype_of(p, b));
}

/* All slices have arrived: joins them along the tree. */
static void sum_slices(adz_data_parallel *p)
{
    const adzi_bucket *b = current(p);
    const int me = p->group->rank;
    const int64_t length = slice_length(p, b, me);
    adzi_tree_node list[ADZI_TREE_NODES];
    char *at[ADZI_TREE_NODES];
    int count = 0;
    for (int i = 0; i < p->nodes_begin[p->group->size]; ++i) {
        const int before = count;
        const int joins = adzi_tree_push(list, &count, p->all_nodes[i], p->leaves);
        char *sum = slice_of_node(p, b, i);
        for (int k = 1; k <= joins; ++k) {
            adzi_join(ADZ_GROUP_SUM, dtype_of(p, b), at[before - k], sum, length);
            sum = at[before - k];
        }
        at[count - 1] = sum;
    }
    char *result = result_at(p, b, slice_begin(p, b, me));
    if (at[0] != result) {
        memcpy(result, at[0], (size_t)length * adz_dtype_size(dtype_of(p, b)));
    }
}

static void slice_arrived(adzi_exchange *exchange, void *user)
{
    adz_data_parallel *p = user;
    (void)exchange;
    if (--p->sender.under_way == 0) {
        sum_slices(p);
        spread(p);
    }
}

/* Sends each rank its slice of this rank's nodes, and receives this rank's slice of theirs. */
static void collect(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    const adzi_bucket *b = current(p);
    const int ranks = p->group->size, me = p->group->rank;
    const int own = p->nodes_begin[me + 1] - p->nodes_begin[me];
    const size_t item = adz_dtype_size(dtype_of(p, b));
    size_t position = 0;
    s->under_way = (int)s->n_exchanges;
    for (int i = 1; i < ranks; ++i) {
        const int to = (me + i) % ranks, from = (me - i + ranks) % ranks;
        for (int k = p->nodes_begin[from]; k < p->nodes_begin[from + 1]; ++k) {
            const adzi_transfer t = { .from = from,
                .receive = slice_of_node(p, b, k),
                .receive_bytes = (size_t)slice_length(p, b, me) * item,
                .tag = ADZI_TAG_SLICES + k - p->nodes_begin[from] };
            start(p, position++, &t, slice_arrived);
        }
        for (int k = 0; k < own; ++k) {
            const adzi_transfer t = { .to = to,
                .send = adzi_parallel_node(p, k, b->group, b->begin + slice_begin(p, b, to)),
                .send_bytes = (size_t)slice_length(p, b, to) * item,
                .tag = ADZI_TAG_SLICES + k };
            start(p, position++, &t, slice_arrived);
        }
    }
}

/* ---- the transport's own all-reduce --------------------------------------------------------- */

static void delegate(adz_data_parallel *p, adzi_bucket *b)
{
    const adz_status status = p->group->transport.start_all_reduce(p->group->user,
        result_at(p, b, 0), (size_t)b->length, dtype_of(p, b), ADZ_GROUP_SUM, &b->request);
    if (status != ADZ_OK) {
        adzi_group_break(op_name, p->group, status);
    }
}

/* Looks which of the transport's all-reduces have ended, in order. */
static void test_delegated(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    bool done = true;
    while (done && s->n_ended < s->n_started && p->group->broken == ADZ_OK) {
        const adz_status status =
            p->group->transport.test(p->group->user, &s->buckets[s->n_ended].request, &done);
        if (status != ADZ_OK) {
            adzi_group_break(op_name, p->group, status);
        } else if (done) {
            ++s->n_ended;
        }
    }
}

/* ---- one bucket after the other ------------------------------------------------------------- */

static void start_bucket(adz_data_parallel *p, adzi_bucket *b)
{
    adzi_sender *s = &p->sender;
    ++s->n_started;
    memset(&b->request, 0, sizeof b->request);
    if (s->delegates) {
        delegate(p, b);
        return;
    }
    adzi_parallel_join_last(p, b->group, b->begin, b->length);
    if (p->group->size == 1) {
        ++s->n_ended; /* a single rank has the sum already */
    } else if (s->halves) {
        s->round = 0;
        s->begin[0] = 0;
        s->count[0] = b->length;
        next_round(p);
    } else {
        collect(p);
    }
}

static void reset(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    s->has_begun = true;
    s->n_started = s->n_ended = s->n_completed = 0;
    s->flush = false;
    s->sent = 0;
    for (int b = 0; b < s->n_buckets; ++b) {
        s->buckets[b].pending = s->buckets[b].parameters;
        s->buckets[b].position = s->n_buckets; /* behind those that are completed */
    }
}

void adzi_sender_begin(adz_data_parallel *p)
{
    const int leaf = p->fast ? p->group->rank : p->first + p->count - 1;
    p->last_joins =
        adzi_tree_push(p->nodes, &p->n_nodes, adzi_parallel_node_after(p, leaf), p->leaves);
    reset(p);
}

/* The list of nodes is made as if all micro-batches were done. The last node counts as not joined,
 * so each node has memory of its size. */
void adzi_sender_begin_late(adz_data_parallel *p)
{
    if (p->sender.has_begun) {
        return;
    }
    p->n_nodes = p->nodes_begin[p->group->rank + 1] - p->nodes_begin[p->group->rank];
    p->last_joins = 0;
    reset(p);
}

void adzi_sender_go_on(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    while (s->n_started < s->n_buckets && p->group->broken == ADZ_OK &&
           (s->delegates || s->n_ended == s->n_started) &&
           (s->flush || s->buckets[s->n_started].pending == 0)) {
        start_bucket(p, &s->buckets[s->n_started]);
    }
}

void adzi_sender_count(adz_data_parallel *p, int bucket)
{
    adzi_sender *s = &p->sender;
    if (--s->buckets[bucket].pending == 0) {
        s->buckets[bucket].position = s->n_completed++;
    }
}

/* Sorts by insertion: backwards of most models complete the buckets in their first order. */
static void sort_buckets(adzi_sender *s, const int *positions)
{
    for (int b = 0; b < s->n_buckets; ++b) {
        s->buckets[b].position = positions[b];
    }
    for (int b = 1; b < s->n_buckets; ++b) {
        const adzi_bucket bucket = s->buckets[b];
        int to = b;
        for (; to > 0 && s->buckets[to - 1].position > bucket.position; --to) {
            s->buckets[to] = s->buckets[to - 1];
        }
        s->buckets[to] = bucket;
    }
}

adz_status adzi_sender_order(const char *op, adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    if (s->ordered) {
        return ADZ_OK;
    }
    for (int b = 0; b < s->n_buckets; ++b) {
        s->order[b] = s->buckets[b].position;
    }
    const adzi_broadcast order = { 0, ADZI_TAG_RECORDS, s->order,
        (size_t)s->n_buckets * sizeof *s->order };
    const adz_status status = adzi_send_down(op, p->group, &order);
    if (status == ADZ_OK) {
        sort_buckets(s, s->order);
        for (int b = 0; b < s->n_buckets; ++b) {
            s->order[s->buckets[b].first_position] = b;
        }
        for (size_t i = 0; i < p->n_parameters; ++i) {
            p->parameters[i].bucket = s->order[p->parameters[i].bucket];
        }
        s->ordered = true;
    }
    return status;
}

/* Lets messages go on, and starts what can start. */
static void advance(adz_data_parallel *p)
{
    if (p->sender.delegates) {
        test_delegated(p);
    }
    adz_group_progress(p->group);
    adzi_sender_go_on(p);
}

void adzi_sender_progress(void *parallel)
{
    adz_data_parallel *p = parallel;
    if (p->sender.n_ended < p->sender.n_buckets && p->group->broken == ADZ_OK) {
        advance(p);
    }
}

adz_status adzi_sender_finish(const char *op, adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    s->flush = true;
    while (s->n_ended < s->n_buckets && p->group->broken == ADZ_OK) {
        advance(p);
        if (s->n_ended < s->n_buckets && p->group->size > 1) {
            sched_yield();
        }
    }
    if (p->group->broken == ADZ_OK || adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    return adzi_group_ready(op, p->group);
}

void adzi_sender_abandon(const char *op, adz_data_parallel *p)
{
    const adzi_sender *s = &p->sender;
    if (s->n_ended == s->n_started) {
        return;
    }
    if (p->group->broken == ADZ_OK) {
        p->group->broken = ADZ_ERR_STATE;
        snprintf(
            p->group->reason, sizeof p->group->reason, "%s was called in the middle of a step", op);
    }
    for (size_t i = 0; i < s->n_exchanges; ++i) {
        adzi_exchange_take_out(p->group, &s->exchanges[i]);
    }
}
