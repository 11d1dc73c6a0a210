/* The hits of all events of a solution: finds them in each step, and collects them. */
#include <string.h>

#include "solvers/ode_run.h"

/* ---- a step ---------------------------------------------------------------------------------- */

/* The hits in the last step, which are in the order of the events. */
static bool find_hits(adzi_ode_run *run, const adzi_ode_span *span, const adzi_ode_move *move,
    adzi_ode_hit *hits, int *n)
{
    const adzi_ode *ode = run->ode;
    *n = 0;
    for (int i = 0; i < (int)ode->n_events; ++i) {
        const double sign = run->signs[i];
        adzi_ode_hit hit = { .event = i, .index = run->counts[i], .step = ode->n_steps - 1 };
        bool found;
        if (!adzi_ode_event_within(ode, i, move, &run->signs[i], &found) ||
            (found && !adzi_ode_locate(ode, i, span, move, run->t, sign, &hit.at))) {
            return false;
        }
        if (found) {
            hits[(*n)++] = hit;
        }
    }
    return true;
}

/* Sorts by time. Hits at the same time stay in the order of the events. */
static void sort(adzi_ode_hit *hits, int n)
{
    for (int i = 1; i < n; ++i) {
        const adzi_ode_hit hit = hits[i];
        int j = i;
        for (; j > 0 && hits[j - 1].at > hit.at; --j) {
            hits[j] = hits[j - 1];
        }
        hits[j] = hit;
    }
}

/* Ends the solution at the first hit that is to end it. Returns how many hits there are up to then.
 */
static int end_at(adzi_ode *ode, const adzi_ode_hit *hits, int n)
{
    int last = 0;
    while (last < n && hits[last].index + 1 != ode->events[hits[last].event].terminal) {
        ++last;
    }
    if (last == n) {
        return n;
    }
    const double end = hits[last].at;
    int64_t reached = 1;
    while (!ode->needs_end && reached < ode->n_times && ode->at[reached] <= end) {
        ++reached;
    }
    ode->ended = hits[last].event;
    ode->n_times = reached;
    while (last < n && hits[last].at == end) {
        ++last;
    }
    return last;
}

/* ---- what is collected ----------------------------------------------------------------------- */

/* [n, ...] for n tensors like `t`, of which the first ones are those of `old`, which may be NULL.
 */
static adz_tensor *grown(adz_tensor *old, const adz_tensor *t, int64_t n)
{
    int64_t sizes[ADZ_MAX_RANK] = { n };
    memcpy(sizes + 1, t->sizes, (size_t)t->rank * sizeof *sizes);
    adz_tensor *rows = adz_zeros(adz_shape_of(t->rank + 1, sizes), (adz_dtype)t->dtype);
    if (rows != NULL && old != NULL) {
        memcpy(rows->data, old->data, (size_t)old->numel * adzi_item_size(old));
    }
    return rows;
}

/* Room for one more hit. */
static bool reserve_hit(adzi_ode_run *run)
{
    adzi_ode *ode = run->ode;
    const int64_t has = run->hits != NULL ? run->hit_times->sizes[0] : 0;
    if (ode->n_hits < has) {
        return true;
    }
    const int64_t room = has > 0 ? 2 * has : 8, bytes = room * (int64_t)sizeof(adzi_ode_hit);
    const adz_tensor like = { .rank = 0, .dtype = ode->times->dtype };
    adz_tensor *hits = adzi_scratch(ode->e.op, ADZ_U8, 1, &bytes);
    run->hit_times = grown(run->hit_times, &like, room);
    run->hit_states = grown(run->hit_states, ode->like, room);
    if (hits == NULL || run->hit_times == NULL || run->hit_states == NULL) {
        return false;
    }
    if (has > 0) {
        memcpy(hits->data, ode->hits, (size_t)has * sizeof(adzi_ode_hit));
    }
    run->hits = hits;
    ode->hits = (adzi_ode_hit *)(void *)hits->data;
    return true;
}

static bool collect(adzi_ode_run *run, const adzi_ode_hit *hit, const adzi_ode_span *span,
    const adzi_ode_move *move)
{
    adzi_ode *ode = run->ode;
    adz_tensor *found[2];
    if (ode->n_hits == ode->o.max_hits) {
        adzi_error(ode->e.op, ADZ_ERR_NUMERIC,
            "event %d is hit at t = %s, after max_hits, %lld, hits of all events; raise max_hits, or end the solution before",
            hit->event, adzi_text_number(adzi_ode_time(ode, hit->at)), (long long)ode->o.max_hits);
        return false;
    }
    if (!reserve_hit(run) || !adzi_ode_at_hit(ode, hit, span, move, found) ||
        adz_copy_(adz_select(run->hit_times, 0, ode->n_hits), found[0]) == NULL ||
        adz_copy_(adz_select(run->hit_states, 0, ode->n_hits), found[1]) == NULL) {
        return false;
    }
    ++run->counts[hit->event];
    ode->hits[ode->n_hits++] = *hit;
    return true;
}

bool adzi_ode_take_hits(adzi_ode_run *run, const adzi_ode_span *span, const adzi_ode_move *move)
{
    adzi_ode_hit hits[ADZ_ODE_EVENTS];
    int n;
    if (!find_hits(run, span, move, hits, &n)) {
        return false;
    }
    sort(hits, n);
    n = end_at(run->ode, hits, n);
    for (int i = 0; i < n; ++i) {
        if (!collect(run, &hits[i], span, move)) {
            return false;
        }
    }
    return true;
}

/* ---- the results ----------------------------------------------------------------------------- */

/* The times of the hits of an event, and the states there. */
static bool select_hits(const adzi_ode_run *run, int event, adz_tensor **results)
{
    const adzi_ode *ode = run->ode;
    const int64_t n = adzi_ode_hits_of(ode, event);
    const adz_tensor like = { .rank = 0, .dtype = ode->times->dtype };
    if (n == 0) {
        results[0] = grown(NULL, &like, 0);
        results[1] = grown(NULL, ode->like, 0);
        return results[0] != NULL && results[1] != NULL;
    }
    adz_tensor *positions = adz_empty(ADZ_SHAPE(n), ADZ_I64);
    if (positions == NULL) {
        return false;
    }
    int64_t *to = (int64_t *)(void *)positions->data;
    for (int64_t i = 0; i < ode->n_hits; ++i) {
        if (ode->hits[i].event == event) {
            *to++ = i;
        }
    }
    results[0] = adz_index_select(run->hit_times, 0, positions);
    results[1] = adz_index_select(run->hit_states, 0, positions);
    return results[0] != NULL && results[1] != NULL;
}

bool adzi_ode_run_results(const adzi_ode_run *run, adz_tensor **results)
{
    const adzi_ode *ode = run->ode;
    const bool whole = run->out->sizes[0] == ode->n_times;
    results[0] = whole ? run->out : adz_clone(adz_narrow(run->out, 0, 0, ode->n_times));
    for (int i = 0; i < (int)ode->n_events; ++i) {
        if (!select_hits(run, i, results + 1 + 2 * i)) {
            return false;
        }
    }
    return results[0] != NULL;
}

int64_t adzi_ode_first_hit(const adzi_ode *ode, int64_t k)
{
    int64_t low = 0, high = ode->n_hits;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (ode->hits[middle].step < k) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
