/* Noticing changes between two runs: gradients and tensors that are compared before a run, and the
 * memory outside a plan to which its launches refer.
 *
 * Launches refer to parameters, inputs, optimizers and generators by address, and a plan holds no
 * reference of most of them. Every block that is freed in the process is therefore compared with
 * the addresses of all captured plans. A plan whose memory was freed is stale: its launches are not
 * run again. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threads/fork.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

ADZI_FORK_TAKES(lock, ADZI_LOCK_WATCHED)
static adz_plan *plans; /* those that are watched */

/* Whether some watched address lies in [begin, end). */
static bool refers_to(const adz_plan *plan, const char *begin, const char *end)
{
    size_t low = 0, high = plan->n_watched;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)plan->watched[middle] < (uintptr_t)begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < plan->n_watched && (uintptr_t)plan->watched[low] < (uintptr_t)end;
}

static void look(const char *block, size_t bytes)
{
    pthread_mutex_lock(&lock);
    for (adz_plan *plan = plans; plan != NULL; plan = plan->next_watched) {
        if (refers_to(plan, block, block + (bytes > 0 ? bytes : 1))) {
            atomic_store(&plan->stale, true);
        }
    }
    pthread_mutex_unlock(&lock);
}

static bool watch_address(adz_plan *plan, const void *address)
{
    if (!adzi_grow(
            &plan->watched, &plan->watched_capacity, plan->n_watched + 1, sizeof *plan->watched)) {
        return false;
    }
    plan->watched[plan->n_watched++] = address;
    return true;
}

/* The addresses of one launch that lie outside the blocks of the run. A block that lives longer
 * than the call counts as outside. */
static bool watch_launch(
    adz_plan *plan, const adzi_captured_call *c, const adzi_plan_launch *launch)
{
    adzi_address_cursor all = adzi_addresses_of(launch);
    bool noted = true;
    for (size_t at; noted && adzi_next_address(&all, &at);) {
        const adzi_plan_reference *reference = adzi_reference_at(c, launch, at);
        const void *address;
        memcpy(&address, launch->args + at, sizeof address);
        if (address != NULL && (reference == NULL || !c->blocks.all[reference->block].freed)) {
            noted = watch_address(plan, address);
        }
    }
    return noted;
}

/* The addresses outside the blocks of the run through which a loop goes. */
static bool watch_loop(adz_plan *plan, const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    bool noted = true;
    for (size_t i = 0; i < loop->n_patches && noted; ++i) {
        const adzi_plan_patch *p = &c->patches[loop->first_patch + i];
        const adzi_plan_launch *launch = &c->launches[p->launch];
        const adzi_plan_reference *reference = adzi_reference_at(c, launch, p->at);
        uintptr_t address;
        memcpy(&address, launch->args + p->at, sizeof address);
        const bool outside = reference == NULL || !c->blocks.all[reference->block].freed;
        for (int64_t t = 1; outside && t < loop->times && noted; ++t) {
            address += p->step;
            noted = watch_address(plan, (const void *)address);
        }
    }
    return noted;
}

static int compare_addresses(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (const char *const *)a,
                    y = (uintptr_t) * (const char *const *)b;
    return (x > y) - (x < y);
}

/* Sorts the addresses and drops repeated ones. */
static void sort_watched(adz_plan *plan)
{
    size_t kept = 0;
    if (plan->n_watched > 1) { /* an empty list is NULL, which qsort does not take */
        qsort(plan->watched, plan->n_watched, sizeof *plan->watched, compare_addresses);
    }
    for (size_t i = 0; i < plan->n_watched; ++i) {
        if (kept == 0 || plan->watched[kept - 1] != plan->watched[i]) {
            plan->watched[kept++] = plan->watched[i];
        }
    }
    plan->n_watched = kept;
}

bool adzi_captured_call_is_old(const adzi_captured_call *c)
{
    bool same = true;
    for (size_t i = 0; i < c->n_seen; ++i) {
        same = same && c->seen[i].storage->version == c->seen[i].version;
    }
    for (size_t i = 0; i < c->n_gradients && same; ++i) {
        const adzi_gradient *g = c->gradients[i].gradient;
        same = g->grad == c->gradients[i].grad && !g->spoiled;
    }
    return !same || adzi_plan_modes_changed(c);
}

/* What a replay uses. */
static bool watch_used(adz_plan *plan, const adzi_captured_call *c)
{
    bool noted = true;
    for (size_t i = 0; i < c->n_launches && noted; ++i) {
        noted = watch_launch(plan, c, &c->launches[i]);
    }
    for (size_t i = 0; i < c->n_loops && noted; ++i) {
        noted = watch_loop(plan, c, &c->loops[i]);
    }
    for (size_t i = 0; i < c->n_written && noted; ++i) {
        noted = watch_address(plan, c->written[i]);
    }
    for (size_t i = 0; i < c->n_arguments && noted; ++i) {
        const uintptr_t what = c->arguments[i].what;
        noted = what % 2 != 0 || watch_address(plan, (const void *)what);
    }
    return noted;
}

/* What adzi_captured_call_is_old reads. */
static bool watch_compared(adz_plan *plan, const adzi_captured_call *c)
{
    bool noted = true;
    for (size_t i = 0; i < c->n_seen && noted; ++i) {
        noted = watch_address(plan, c->seen[i].storage);
    }
    for (size_t i = 0; i < c->n_gradients && noted; ++i) {
        noted = watch_address(plan, c->gradients[i].gradient);
    }
    for (size_t i = 0; i < c->n_modes && noted; ++i) {
        noted = watch_address(plan, c->modes[i].module);
    }
    return noted;
}

bool adzi_plan_watch(adz_plan *plan)
{
    const adzi_captured_call *c = plan->last;
    adzi_plan_unwatch(plan);
    if (!watch_compared(plan, c) || (plan->captured && !watch_used(plan, c))) {
        return false;
    }
    sort_watched(plan);
    pthread_mutex_lock(&lock);
    plan->next_watched = plans;
    plans = plan;
    atomic_store(&adzi_free_watcher, look);
    pthread_mutex_unlock(&lock);
    return true;
}

void adzi_plan_unwatch(adz_plan *plan)
{
    pthread_mutex_lock(&lock);
    adz_plan **at = &plans;
    while (*at != NULL && *at != plan) {
        at = &(*at)->next_watched;
    }
    if (*at == plan) {
        *at = plan->next_watched;
    }
    if (plans == NULL) {
        atomic_store(&adzi_free_watcher, NULL);
    }
    pthread_mutex_unlock(&lock);
    atomic_store(&plan->stale, false);
    adzi_free(plan->watched, plan->watched_capacity * sizeof *plan->watched);
    plan->watched = NULL;
    plan->n_watched = plan->watched_capacity = 0;
}
