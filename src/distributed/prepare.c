/* What data-parallel training lays out before its first step: the tree's nodes on each rank, memory
 * for sums and messages, and the buckets. */
#include <string.h>

#include "adze/data/loader.h"
#include "distributed/data_parallel.h"
#include "tensor/tensor.h"

/* ---- the tree ------------------------------------------------------------------------------- */

/* The leaves of a rank: its micro-batches or, with `fast`, itself. */
static int first_leaf(const adz_data_parallel *p, int rank)
{
    return p->fast ? rank : (int)adz_loader_cut(p->micro_batches, p->group->size, rank);
}

/* Lists the nodes of all ranks. */
static bool plan_nodes(const char *op, adz_data_parallel *p)
{
    const int ranks = p->group->size;
    adzi_tree_node list[ADZI_TREE_NODES];
    size_t total = 0;
    p->leaves = p->fast ? ranks : p->micro_batches;
    p->nodes_begin = adzi_alloc(((size_t)ranks + 1) * sizeof *p->nodes_begin);
    if (p->nodes_begin == NULL) {
        adzi_fail_memory(op, ((size_t)ranks + 1) * sizeof *p->nodes_begin);
        return false;
    }
    for (int r = 0; r <= ranks; ++r) {
        p->nodes_begin[r] = (int)total;
        if (r < ranks) {
            const int first = first_leaf(p, r);
            total += (size_t)adzi_tree_run(list, first, first_leaf(p, r + 1) - first, p->leaves);
        }
    }
    p->all_nodes = adzi_alloc(total * sizeof *p->all_nodes);
    if (p->all_nodes == NULL) {
        adzi_fail_memory(op, total * sizeof *p->all_nodes);
        return false;
    }
    for (int r = 0; r < ranks; ++r) {
        const int first = first_leaf(p, r);
        const int n = adzi_tree_run(list, first, first_leaf(p, r + 1) - first, p->leaves);
        memcpy(p->all_nodes + p->nodes_begin[r], list, (size_t)n * sizeof *list);
    }
    return true;
}

/* How many sums this rank holds at a time in addition to the gradients of the running micro-batch.
 */
static int count_slots(const adz_data_parallel *p)
{
    adzi_tree_node list[ADZI_TREE_NODES];
    int count = 0, most = 0;
    for (int leaf = p->first; leaf + 1 < p->first + p->count && !p->fast; ++leaf) {
        if (leaf % 2 == 1) {
            adzi_tree_push(list, &count, adzi_parallel_node_after(p, leaf), p->leaves);
            most = count > most ? count : most;
        }
    }
    return most;
}

static size_t group_bytes(const adz_data_parallel *p, int group)
{
    const adz_tensor *all = adz_flat_parameters_gradients(p->flat, group);
    return (size_t)all->numel * adzi_item_size(all);
}

static bool plan_sums(const char *op, adz_data_parallel *p)
{
    const int groups = adz_flat_parameters_group_count(p->flat);
    p->n_slots = count_slots(p);
    if (p->n_slots == 0) {
        return true;
    }
    const size_t bytes = (size_t)(p->n_slots * groups) * sizeof *p->sums;
    p->sums = adzi_alloc_zero(bytes);
    if (p->sums == NULL) {
        adzi_fail_memory(op, bytes);
        return false;
    }
    for (int i = 0; i < p->n_slots * groups; ++i) {
        p->sums[i] = adzi_alloc(group_bytes(p, i % groups));
        if (p->sums[i] == NULL) {
            adzi_fail_memory(op, group_bytes(p, i % groups));
            return false;
        }
    }
    return true;
}

/* ---- buckets -------------------------------------------------------------------------------- */

/* Whether a parameter begins another bucket. Parameters are taken from the last one to the first,
 * which is about the order in which a backward completes their gradients. */
static bool begins_bucket(const adz_data_parallel *p, const adzi_bucket *bucket, adz_flat_slice s)
{
    const adz_tensor *all = adz_flat_parameters_gradients(p->flat, bucket->group);
    return s.group != bucket->group ||
           (size_t)bucket->length * adzi_item_size(all) >= p->bucket_bytes;
}

/* Cuts the flat gradients into buckets. Returns their number, at most that of the parameters. */
static int cut_buckets(adz_data_parallel *p, adzi_bucket *buckets)
{
    adzi_bucket current = { .group = -1 };
    int n = 0;
    for (size_t k = p->n_parameters; k-- > 0;) {
        const adz_flat_slice s = adz_flat_parameters_slice_at(p->flat, k);
        if (n == 0 || begins_bucket(p, &current, s)) {
            const adz_tensor *all = adz_flat_parameters_gradients(p->flat, s.group);
            int64_t end = all->numel;
            for (int i = 0; i < n; ++i) {
                end = buckets[i].group == s.group ? buckets[i].begin : end;
            }
            current = (adzi_bucket){ .group = s.group, .begin = end, .first_position = n };
            ++n;
        }
        current.length += current.begin - s.offset;
        current.begin = s.offset;
        current.parameters += 1;
        p->parameters[k].bucket = n - 1;
        buckets[n - 1] = current;
    }
    return n;
}

static bool plan_buckets(const char *op, adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    s->buckets = adzi_alloc_zero(p->n_parameters * sizeof *s->buckets);
    s->order = adzi_alloc_zero(p->n_parameters * sizeof *s->order);
    if (s->buckets == NULL || s->order == NULL) {
        adzi_fail_memory(op, p->n_parameters * sizeof *s->buckets);
        return false;
    }
    s->n_buckets = cut_buckets(p, s->buckets);
    return true;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Whether the tree can be walked by recursive halving: the ranks are a power of two, and each one
 * holds a single node of one level. */
static bool can_halve(const adz_data_parallel *p)
{
    const int ranks = p->group->size;
    bool equal = (ranks & (ranks - 1)) == 0 && p->nodes_begin[ranks] == ranks;
    for (int r = 0; r < ranks && equal; ++r) {
        equal = p->all_nodes[r].level == p->all_nodes[0].level && p->all_nodes[r].index == r;
    }
    return equal;
}

/* Bytes that arrive before they are added: half of the largest bucket, or a slice of it from each
 * node of the other ranks. */
static size_t received_bytes(const adz_data_parallel *p)
{
    const int ranks = p->group->size, me = p->group->rank;
    const int others = p->nodes_begin[ranks] - (p->nodes_begin[me + 1] - p->nodes_begin[me]);
    size_t most = 0;
    for (int b = 0; b < p->sender.n_buckets; ++b) {
        const adzi_bucket *bucket = &p->sender.buckets[b];
        const adz_tensor *all = adz_flat_parameters_gradients(p->flat, bucket->group);
        const int64_t length =
            p->sender.halves ? (bucket->length + 1) / 2 : (bucket->length / ranks + 1) * others;
        const size_t bytes = (size_t)length * adzi_item_size(all);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool plan_messages(const char *op, adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    const int ranks = p->group->size, me = p->group->rank;
    if (ranks == 1) {
        return true;
    }
    s->halves = can_halve(p);
    s->delegates = p->fast && p->group->transport.start_all_reduce != NULL;
    const size_t own = (size_t)(p->nodes_begin[me + 1] - p->nodes_begin[me]);
    const size_t all = (size_t)p->nodes_begin[ranks];
    s->n_exchanges = s->halves ? 1 : own * ((size_t)ranks - 1) + all - own;
    s->exchanges = adzi_alloc_zero(s->n_exchanges * sizeof *s->exchanges);
    const size_t bytes = s->delegates ? 0 : received_bytes(p);
    s->received = bytes > 0 ? adzi_alloc(bytes) : NULL;
    s->received_bytes = s->received != NULL ? bytes : 0;
    if (s->exchanges == NULL || (bytes > 0 && s->received == NULL)) {
        adzi_fail_memory(op, bytes);
        return false;
    }
    return true;
}

/* ---- records -------------------------------------------------------------------------------- */

static size_t mask_words(const adz_data_parallel *p)
{
    return (p->n_parameters + 63) / 64;
}

adzi_micro_record *adzi_parallel_record(const adz_data_parallel *p, int micro)
{
    return (adzi_micro_record *)(void *)(p->records + (size_t)micro * p->record_bytes);
}

uint64_t *adzi_parallel_mask(const adz_data_parallel *p, int micro)
{
    return (uint64_t *)(void *)(adzi_parallel_record(p, micro) + 1);
}

double *adzi_parallel_numbers(const adz_data_parallel *p, int micro)
{
    return (double *)(void *)(adzi_parallel_mask(p, micro) + mask_words(p));
}

static size_t numbers_bytes(const adz_data_parallel *p)
{
    return adzi_micro_state_numbers(p->state) * (size_t)p->micro_batches * sizeof(double);
}

static bool plan_records(const char *op, adz_data_parallel *p)
{
    const int ranks = p->group->size;
    p->record_bytes = sizeof(adzi_micro_record) + mask_words(p) * sizeof(uint64_t) +
                      adzi_micro_state_numbers(p->state) * sizeof(double);
    const size_t bytes = p->record_bytes * (size_t)p->micro_batches;
    p->records = adzi_alloc_zero(bytes);
    const size_t numbers = numbers_bytes(p);
    p->numbers = numbers > 0 ? adzi_alloc(numbers) : NULL;
    p->records_begin = adzi_alloc(((size_t)ranks + 1) * sizeof *p->records_begin);
    if (p->records == NULL || p->records_begin == NULL || (numbers > 0 && p->numbers == NULL)) {
        adzi_fail_memory(op, bytes);
        return false;
    }
    for (int r = 0; r <= ranks; ++r) {
        p->records_begin[r] = p->record_bytes * (size_t)adz_loader_cut(p->micro_batches, ranks, r);
    }
    return true;
}

/* ---- all ------------------------------------------------------------------------------------ */

bool adzi_parallel_prepare(const char *op, adz_data_parallel *p)
{
    return plan_nodes(op, p) && plan_sums(op, p) && plan_buckets(op, p) && plan_messages(op, p) &&
           plan_records(op, p);
}

void adzi_parallel_unprepare(adz_data_parallel *p)
{
    adzi_sender *s = &p->sender;
    const size_t ranks = (size_t)p->ranks;
    const int groups = adz_flat_parameters_group_count(p->flat);
    for (int i = 0; i < p->n_slots * groups && p->sums != NULL; ++i) {
        adzi_free(p->sums[i], group_bytes(p, i % groups));
    }
    adzi_free(p->sums, (size_t)(p->n_slots * groups) * sizeof *p->sums);
    if (p->all_nodes != NULL) {
        adzi_free(p->all_nodes, (size_t)p->nodes_begin[ranks] * sizeof *p->all_nodes);
    }
    adzi_free(p->nodes_begin, (ranks + 1) * sizeof *p->nodes_begin);
    adzi_free(s->buckets, p->n_parameters * sizeof *s->buckets);
    adzi_free(s->order, p->n_parameters * sizeof *s->order);
    adzi_free(s->exchanges, s->n_exchanges * sizeof *s->exchanges);
    adzi_free(s->received, s->received_bytes);
    adzi_free(p->records, p->record_bytes * (size_t)p->micro_batches);
    adzi_free(p->numbers, p->numbers != NULL ? numbers_bytes(p) : 0);
    adzi_free(p->records_begin, (ranks + 1) * sizeof *p->records_begin);
}
