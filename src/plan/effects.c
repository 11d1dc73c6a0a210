/* What a part of a captured call does. A kernel may write to all addresses that are not those of
 * constant bytes (Note [Addresses of a launch]). */
#include "plan/effects.h"

#include <string.h>

#include "base/alloc.h"
#include "plan/fold.h"

/* The call that runs. */
static const adzi_captured_call *call_of(const adzi_capture *capture)
{
    return ((const adz_plan *)(const void *)capture)->current;
}

adzi_plan_position adzi_plan_position_of(const adzi_capture *capture)
{
    const adzi_captured_call *c = call_of(capture);
    return (adzi_plan_position){ c->n_made, c->blocks.n_stored };
}

/* The first launch that is held from an ordinal on. */
static size_t launch_at(const adzi_captured_call *c, int64_t ordinal)
{
    size_t low = 0, high = c->n_launches;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->launches[middle].ordinal < ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether a launch writes to memory that is none of the blocks from the n-th on. */
static bool changes(const adzi_captured_call *c, const adzi_plan_launch *l, int64_t n)
{
    adzi_fold_walk walk = adzi_fold_begin(c, l);
    const adzi_plan_reference *reference;
    for (size_t at; adzi_fold_next(&walk, &at, &reference);) {
        uintptr_t address;
        memcpy(&address, c->args + l->args_at + at, sizeof address);
        const bool older =
            reference == NULL ? address != 0 : c->blocks.all[reference->block].number < n;
        if (older && walk.all.table->reads == 0) {
            return true;
        }
    }
    return false;
}

const char *adzi_plan_changed_since(const adzi_capture *capture, adzi_plan_position from)
{
    const adzi_captured_call *c = call_of(capture);
    for (size_t i = launch_at(c, from.launches); i < c->n_launches; ++i) {
        if (changes(c, &c->launches[i], from.blocks)) {
            return c->launches[i].op;
        }
    }
    return NULL;
}

const char *adzi_plan_differs(const adzi_capture *capture, int64_t first, int64_t second, int64_t n)
{
    const adzi_captured_call *c = call_of(capture);
    const size_t one = launch_at(c, first), other = launch_at(c, second);
    if (c->refused) { /* some launches are not held, and the call becomes no plan */
        return NULL;
    }
    for (size_t i = 0; i < (size_t)n && c->masked; ++i) {
        if (!adzi_fold_are_equal(c, &c->launches[one + i], &c->launches[other + i])) {
            return c->launches[other + i].op;
        }
    }
    return NULL;
}

void adzi_plan_hold(adzi_capture *capture, bool on)
{
    adzi_captured_call *c = ((adz_plan *)(void *)capture)->current;
    if (on) {
        adzi_stretch_interrupt(capture, c);
    }
    c->stretches.held += on ? 1 : -1;
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* The mark that launch i is, before its arguments have their final location. */
static adzi_mark_kind mark_of(const adzi_captured_call *c, size_t i)
{
    adzi_plan_launch l = c->launches[i];
    l.args = c->args + l.args_at;
    return adzi_plan_mark_of(&l);
}

/* Moves the launches outside of probes together. moved[i] becomes the number of those before launch
 * i. Returns how many there are. */
static size_t move_launches(adzi_captured_call *c, size_t *moved)
{
    size_t kept = 0;
    int depth = 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        const adzi_mark_kind mark = mark_of(c, i);
        depth += mark == ADZI_MARK_PROBE;
        moved[i] = kept;
        if (depth == 0) {
            c->launches[kept++] = c->launches[i];
        }
        depth -= mark == ADZI_MARK_PROBED;
    }
    return kept;
}

/* Lets updates and numbers refer to launches where they are now. */
static void move_references(adzi_captured_call *c, const size_t *moved, size_t kept)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_updates; ++i) {
        adzi_plan_update u = c->updates[i];
        const size_t end = u.first + u.launches;
        const size_t to = end < c->n_launches ? moved[end] : kept;
        if (to == moved[u.first] + u.launches) {
            u.first = moved[u.first];
            c->updates[n++] = u;
        }
    }
    c->n_updates = n;
    for (size_t i = 0; i < c->n_numbers; ++i) {
        size_t *launch = &c->numbers[i].launch;
        *launch = *launch < c->n_launches ? moved[*launch] : kept;
    }
}

static bool has_probes(const adzi_captured_call *c)
{
    bool some = false;
    for (size_t i = 0; i < c->n_launches && !some; ++i) {
        some = mark_of(c, i) == ADZI_MARK_PROBE;
    }
    return some;
}

bool adzi_plan_drop_probes(adzi_captured_call *c)
{
    if (!has_probes(c)) {
        return true;
    }
    const size_t bytes = (c->n_launches + 1) * sizeof(size_t);
    size_t *moved = adzi_alloc(bytes);
    if (moved == NULL) {
        return false;
    }
    const size_t kept = move_launches(c, moved);
    move_references(c, moved, kept);
    for (size_t i = 0; i < c->stretches.count; ++i) { /* in which no probe lies */
        c->stretches.all[i].begin = moved[c->stretches.all[i].begin];
    }
    c->n_launches = c->n_sited = kept;
    adzi_free(moved, bytes);
    adzi_plan_find_uses(c);
    return true;
}
