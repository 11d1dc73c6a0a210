/* Divides the series into parts, and ends the program if one of them is too short. */
#include "parts.h"

#include <stdlib.h>

#include "../shared/command_line.h"

enum { MOST_JUDGED = 100, FEWEST_JUDGED = 8, MOST_TARGETS = 4096, FEWEST_WINDOWS = 8 };

/* ---- blocks --------------------------------------------------------------------------------- */

static int64_t begin_of(int64_t length, int block)
{
    int64_t test = test_start(length), half = test / 2;
    return half + (test - half) * block / BLOCKS;
}

/* The windows of a block. They may end in a later block, but not in the test part. */
static origins windows_of(const network *n, int64_t length, int block)
{
    int64_t most = MOST_TARGETS / n->horizon;
    most = most > MOST_JUDGED ? MOST_JUDGED : most < FEWEST_JUDGED ? FEWEST_JUDGED : most;
    int64_t begin = begin_of(length, block), first = first_origin(n);
    return at_most(
        n, begin > first ? begin : first, begin_of(length, block + 1), test_start(length), most);
}

static bool is_long_enough(const network *n, int64_t length)
{
    int64_t judged = 0, test = test_start(length), begin = begin_of(length, 0);
    origins windows = origins_between(n, first_origin(n), begin, begin, 1);
    int64_t trained = windows.count;
    free_origins(&windows);
    for (int i = 0; i < BLOCKS; ++i) {
        windows = windows_of(n, length, i);
        judged += windows.count;
        free_origins(&windows);
    }
    return trained >= FEWEST_WINDOWS && judged >= FEWEST_JUDGED && length - test >= n->horizon;
}

static bool can_be_tested(const network *n, int64_t length)
{
    return test_start(length) >= first_origin(n) && length - test_start(length) >= n->horizon;
}

/* Ends the program with the number of values that would be enough, if there are fewer. */
static void check_enough(
    const network *n, const series *s, bool (*is_enough)(const network *, int64_t))
{
    int64_t step = 1, least = s->n;
    if (is_enough(n, s->n)) {
        return;
    }
    while (!is_enough(n, s->n + step)) {
        least = s->n + step;
        step *= 2;
    }
    for (int64_t most = s->n + step; most - least > 1;) {
        int64_t middle = least + (most - least) / 2;
        *(is_enough(n, middle) ? &most : &least) = middle;
    }
    fail(
        "%s: %lld values are too few for --window %lld, --horizon %lld and --season %lld, which need %lld; give a longer series or smaller numbers",
        s->name, (long long)s->n, (long long)n->window, (long long)n->horizon, (long long)n->season,
        (long long)least + 1);
}

/* Ends the program if all values of a part are missing. */
static void check_known(const series *s, const char *part, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; ++i) {
        if (!s->missing[i]) {
            return;
        }
    }
    fail(
        "%s: all values of the %s part are missing, those of rows %lld to %lld; give a series without so long a gap",
        s->name, part, (long long)begin + 1, (long long)end);
}

void check_test_length(const network *n, const series *s)
{
    int64_t test = test_start(s->n);
    check_enough(n, s, can_be_tested);
    check_known(s, "test", test, s->n - (s->n - test) % n->horizon);
}

/* Ends the program if networks would learn from equal values. */
static void check_changes(const series *s)
{
    int64_t test = test_start(s->n), same = 1;
    while (same < test && s->values[same] == s->values[0]) {
        ++same;
    }
    if (same == test) {
        fail(
            "%s: each of the first %lld values is %g, and the networks learn from these; leave out constant rows at the beginning",
            s->name, (long long)test, in_unit(s, s->values[0]));
    }
}

void check_length(const network *n, const series *s)
{
    check_enough(n, s, is_long_enough);
    check_known(s, "validation", test_start(s->n) / 2, test_start(s->n));
    check_test_length(n, s);
    check_changes(s);
}

/* ---- parts ---------------------------------------------------------------------------------- */

enum { MOST_WINDOWS = 256 }; /* of an epoch: neighbours overlap, so that more add little */

/* The windows of all blocks in one list. */
static origins all_blocks(const parts *p)
{
    origins all = { .count = 0 };
    all.at = allocate(
        (size_t)(p->blocks[0].count + p->blocks[1].count + p->blocks[2].count) * sizeof *all.at);
    for (int i = 0; i < BLOCKS; ++i) {
        for (int64_t b = 0; b < p->blocks[i].count; ++b) {
            all.at[all.count++] = p->blocks[i].at[b];
        }
    }
    return all;
}

static void forecast_parts(parts *p, const network *n, const series *s)
{
    for (int i = 0; i < BLOCKS; ++i) {
        fitting advancing = at_each_horizon(n, &p->blocks[i]), once = { p->begins[i], 0 };
        forecast_linear(&p->linear, s, n, &p->blocks[i], advancing);
        forecast_linear(&p->linear, s, n, &p->learnt[i], once);
    }
    forecast_linear(&p->linear, s, n, &p->learnt[BLOCKS], (fitting){ test_start(s->n), 0 });
}

parts new_parts(const network *n, const series *s, int64_t jobs)
{
    parts p = { .begins = { 0 } };
    for (int i = 0; i < BLOCKS; ++i) {
        p.begins[i] = begin_of(s->n, i);
        p.blocks[i] = windows_of(n, s->n, i);
        p.learnt[i] = at_most(n, first_origin(n), p.begins[i], p.begins[i], MOST_WINDOWS);
    }
    int64_t test = test_start(s->n);
    p.learnt[BLOCKS] = at_most(n, first_origin(n), test, test, MOST_WINDOWS);
    origins all = all_blocks(&p);
    p.linear = choose_linear(s, n, p.begins[0], &all, jobs);
    free_origins(&all);
    forecast_parts(&p, n, s);
    return p;
}

void free_parts(parts *p)
{
    for (int i = 0; i < BLOCKS; ++i) {
        free_origins(&p->blocks[i]);
    }
    for (int i = 0; i <= BLOCKS; ++i) {
        free_origins(&p->learnt[i]);
    }
}
