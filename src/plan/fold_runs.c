/* Finding launches that repeat themselves.
 *
 * A launch counts as equal to another one if they differ in addresses alone. At each launch, the
 * distances to equal launches behind it are tried as periods, and the one that covers the most
 * launches is taken. */
#include <string.h>

#include "base/alloc.h"
#include "plan/fold.h"

enum {
    LEAST_TIMES = ADZI_FOLD_LEAST_TIMES,
    MOST_PERIODS = 64, /* that are tried at a launch */
    MOST_PERIOD = 1 << 16
};

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* The word of the arguments at an offset; bytes behind the end count as 0. */
static uint64_t word_at(const adzi_captured_call *c, const adzi_plan_launch *l, size_t at)
{
    uint64_t word = 0;
    const size_t left = l->size - at;
    memcpy(&word, c->args + l->args_at + at, left < sizeof word ? left : sizeof word);
    return word;
}

/* The operator of a launch. A mark has that of the launch before it, which says nothing of it. */
static const char *op_of(const adzi_plan_launch *l)
{
    return l->function == adzi_mark ? NULL : l->op;
}

/* A number that is the same for launches that are equal. Words are added up, so that those of
 * addresses can be taken away. */
static uint64_t hash_of(const adzi_captured_call *c, const adzi_plan_launch *l)
{
    uint64_t hash = mixed(mixed((uintptr_t)l->kernel, (uintptr_t)l->function), l->size);
    hash = mixed(mixed(mixed(hash, (uint64_t)l->units), (uint64_t)l->grain), (uintptr_t)op_of(l));
    hash = mixed(mixed(hash, (uintptr_t)l->composed), (uintptr_t)l->addresses);
    for (size_t i = 0; i < sizeof l->items; ++i) {
        hash = mixed(hash, (uint64_t)l->items[i] * 2 + l->fills);
    }
    for (size_t at = 0; at < l->size; at += sizeof(uint64_t)) {
        hash += mixed(at, word_at(c, l, at));
    }
    size_t at;
    for (adzi_address_cursor all = adzi_addresses_of(l); adzi_next_address(&all, &at);) {
        hash -= mixed(at, word_at(c, l, at));
    }
    return hash;
}

static bool is_address(const adzi_plan_launch *l, size_t at)
{
    size_t address;
    for (adzi_address_cursor all = adzi_addresses_of(l); adzi_next_address(&all, &address);) {
        if (address == at) {
            return true;
        }
    }
    return false;
}

bool adzi_fold_are_equal(
    const adzi_captured_call *c, const adzi_plan_launch *a, const adzi_plan_launch *b)
{
    if (a->kernel != b->kernel || a->function != b->function || a->size != b->size ||
        a->units != b->units || a->grain != b->grain || op_of(a) != op_of(b) ||
        a->composed != b->composed || a->addresses != b->addresses || a->fills != b->fills ||
        memcmp(a->items, b->items, sizeof a->items) != 0) {
        return false;
    }
    for (size_t at = 0; at < a->size; at += sizeof(uint64_t)) {
        if (word_at(c, a, at) != word_at(c, b, at) && !is_address(a, at)) {
            return false;
        }
    }
    return true;
}

/* What the search knows of the launches from `from` on, which it counts from there: their numbers,
 * and the next launch of an equal number; n for none. */
typedef struct search {
    const adzi_captured_call *c;
    size_t from;
    uint64_t *hashes;
    size_t *next, *heads; /* heads: by number, the launch found last, plus 1 */
    size_t n, n_heads;
    size_t end; /* up to which runs are looked for */
} search;

static void find_next(search *s)
{
    for (size_t i = s->n; i-- > 0;) {
        const uint64_t hash = s->hashes[i] = hash_of(s->c, &s->c->launches[s->from + i]);
        size_t at = (size_t)(hash >> 7) % s->n_heads;
        while (s->heads[at] != 0 && s->hashes[s->heads[at] - 1] != hash) {
            at = (at + 1) % s->n_heads;
        }
        s->next[i] = s->heads[at] != 0 ? s->heads[at] - 1 : s->n;
        s->heads[at] = i + 1;
    }
}

/* How many launches from i on are equal to those from j on. */
static size_t common(const search *s, size_t i, size_t j)
{
    size_t length = 0;
    while (j + length < s->end && s->hashes[i + length] == s->hashes[j + length]) {
        ++length;
    }
    return length;
}

/* The run from launch i on that covers the most launches; its period is 0 if there is none. */
static adzi_fold_run longest(const search *s, size_t i)
{
    adzi_fold_run best = { .begin = s->from + i };
    size_t covered = 0, tried = 0;
    for (size_t j = s->next[i]; j < s->end && j - i <= MOST_PERIOD && tried < MOST_PERIODS;
         j = s->next[j], ++tried) {
        const size_t period = j - i;
        if (best.period != 0 && period % best.period == 0) {
            continue;
        }
        const size_t times = (common(s, i, j) + period) / period;
        if (times >= LEAST_TIMES && times * period > covered) {
            covered = times * period;
            best.period = period;
            best.times = (int64_t)times;
        }
    }
    best.unit = best.period;
    best.units = best.times;
    return best;
}

/* Whether the launches of a run are equal indeed, and not in their numbers only. */
static bool holds(const adzi_captured_call *c, const adzi_fold_run *run)
{
    const size_t end = run->begin + (size_t)run->times * run->period;
    for (size_t i = run->begin + run->period; i < end; ++i) {
        if (!adzi_fold_are_equal(c, &c->launches[i - run->period], &c->launches[i])) {
            return false;
        }
    }
    return true;
}

/* Whether each mark of a step has its partner in the same step. */
static bool is_balanced(const adzi_captured_call *c, const adzi_fold_run *run)
{
    int depth = 0;
    for (size_t k = 0; k < run->period && depth >= 0; ++k) {
        const adzi_plan_launch *l = &c->launches[run->begin + k];
        adzi_mark_args args = { 0 };
        if (l->function == adzi_mark) {
            memcpy(&args, c->args + l->args_at, sizeof args);
        }
        if (depth == 0 && (args.kind == ADZI_MARK_TEST || args.kind == ADZI_MARK_ELSE)) {
            return false;
        }
        depth += args.kind == ADZI_MARK_WHILE || args.kind == ADZI_MARK_IF;
        depth -= args.kind == ADZI_MARK_AGAIN || args.kind == ADZI_MARK_END;
    }
    return depth == 0;
}

/* Whether launches that are never computed lie in a run. They are left out of the plan later. */
static bool has_probe(const adzi_captured_call *c, const adzi_fold_run *run)
{
    bool some = false;
    for (size_t k = 0; k < run->period && !some; ++k) {
        const adzi_plan_launch *l = &c->launches[run->begin + k];
        adzi_mark_args args = { 0 };
        if (l->function == adzi_mark) {
            memcpy(&args, c->args + l->args_at, sizeof args);
        }
        some = args.kind == ADZI_MARK_PROBE || args.kind == ADZI_MARK_PROBED;
    }
    return some;
}

/* The run of a stretch, with the equal times that follow what was left out, up to `end`. */
static adzi_fold_run run_of(const adzi_captured_call *c, size_t stretch, size_t end)
{
    const adzi_stretch *s = &c->stretches.all[stretch];
    adzi_fold_run run = { .begin = s->begin,
        .period = s->period,
        .unit = s->unit,
        .stretch = stretch + 1,
        .before = s->before,
        .left_out = s->left_out };
    const size_t behind = s->begin + (size_t)s->before * s->period;
    size_t i = behind;
    while (i < end && adzi_fold_are_equal(c, &c->launches[i - s->period], &c->launches[i])) {
        ++i;
    }
    run.times = s->before + s->left_out + (int64_t)((i - behind) / s->period);
    run.units = run.times * (int64_t)(s->period / s->unit);
    return run;
}

typedef struct run_list {
    adzi_fold_run **runs;
    size_t *n, *capacity;
} run_list;

static bool add_run(const run_list *list, const adzi_fold_run *run)
{
    if (!adzi_grow(list->runs, list->capacity, *list->n + 1, sizeof **list->runs)) {
        return false;
    }
    (*list->runs)[(*list->n)++] = *run;
    return true;
}

/* Finds the runs from launch i up to s->end. */
static bool find_between(const search *s, size_t i, const run_list *list)
{
    while (i < s->end) {
        const adzi_fold_run run = longest(s, i);
        if (run.period == 0 || !is_balanced(s->c, &run) || has_probe(s->c, &run) ||
            !holds(s->c, &run)) {
            ++i;
            continue;
        }
        if (!add_run(list, &run)) {
            return false;
        }
        i += (size_t)run.times * run.period;
    }
    return true;
}

/* Finds the runs between stretches, and adds those of the stretches. */
static bool find_runs(search *s, const run_list *list)
{
    const adzi_stretches *stretches = &s->c->stretches;
    size_t i = 0;
    bool good = true;
    for (size_t k = 0; k < stretches->count && good; ++k) {
        if (stretches->all[k].begin < s->from) {
            continue;
        }
        s->end = stretches->all[k].begin - s->from;
        const size_t next =
            k + 1 < stretches->count ? stretches->all[k + 1].begin : s->c->n_launches;
        const adzi_fold_run run = run_of(s->c, k, next);
        good = find_between(s, i, list) && add_run(list, &run);
        i = run.begin + adzi_fold_length(&run) - s->from;
    }
    s->end = s->n;
    return good && find_between(s, i, list);
}

bool adzi_fold_find_runs(
    const adzi_captured_call *c, size_t from, adzi_fold_run **runs, size_t *n, size_t *capacity)
{
    search s = { .c = c, .from = from, .n = c->n_launches - from };
    s.n_heads = 2 * s.n + 1;
    const size_t bytes = s.n * (sizeof *s.hashes + sizeof *s.next) + s.n_heads * sizeof *s.heads;
    *runs = NULL;
    *n = *capacity = 0;
    s.hashes = adzi_alloc_zero(bytes);
    if (s.hashes == NULL) {
        return false;
    }
    s.next = (size_t *)(void *)(s.hashes + s.n);
    s.heads = s.next + s.n;
    find_next(&s);
    const bool good = find_runs(&s, &(run_list){ runs, n, capacity });
    adzi_free(s.hashes, bytes);
    return good;
}
