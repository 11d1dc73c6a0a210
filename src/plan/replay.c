/* Running the launches of a captured call: straight on, in loops, and by marks (Note [Marks among
 * launches]).
 *
 * Note [How a launch is replayed]
 * A launch of a few elements computes for a few nanoseconds, so what else it costs counts. What a
 * replay reads of a launch is therefore in an adzi_plan_call. Work for one thread is a call of the
 * kernel, because whether it is small does not change from run to run. If all operands of an
 * elementwise launch are contiguous, the kernel would do nothing but find their addresses and call
 * its loop, so the replay calls the loop. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/replay.h"

/* ---- preparing ------------------------------------------------------------------------------- */

/* The loop that computes an elementwise launch; NULL if the launch needs its kernel. */
static adzi_pointwise_loop *loop_of(const adzi_plan_launch *l)
{
    adzi_pointwise_args args;
    if (l->items[0] == 0 || l->fills) {
        return NULL;
    }
    memcpy(&args, l->args, ADZI_POINTWISE_FLAT_SIZE);
    return args.flat && args.factor == NULL ? adzi_pointwise_loop_of(l->kernel) : NULL;
}

static adzi_plan_call call_of(const adzi_plan_launch *l)
{
    adzi_plan_call call = { .args = l->args, .units = l->units };
    if (l->kernel == NULL || l->chain > 1 || l->units > l->grain) {
        return call;
    }
    adzi_pointwise_loop *loop = loop_of(l);
    adzi_plan_way way = ADZI_PLAN_BY_KERNEL;
    call.by.kernel = l->kernel;
    if (loop != NULL) {
        way = ADZI_PLAN_BY_LOOP;
        call.by.loop = loop;
    }
    call.way[true] = (uint8_t)way;
    call.way[false] = (uint8_t)(l->loop == 0 ? way : ADZI_PLAN_OTHERWISE);
    return call;
}

/* Notes what the patches of a loop are in a replay. */
static void prepare_patches(adzi_captured_call *c, adzi_plan_loop *loop)
{
    loop->first_move = loop->first_ring = loop->first_patch;
    for (size_t i = 0; i < loop->n_patches; ++i) {
        const adzi_plan_patch *p = &c->patches[loop->first_patch + i];
        adzi_plan_move move = { .word = c->launches[p->launch].args + p->at, .step = p->step };
        memcpy(&move.first, move.word, sizeof move.first);
        if (p->ring == 0) {
            c->moves[loop->first_move + loop->n_moves++] = move;
        } else {
            c->rings[loop->first_ring + loop->n_rings++] =
                (adzi_plan_ring){ move, p->ring, p->begin, p->begin };
        }
    }
}

bool adzi_plan_prepare_replay(adzi_captured_call *c)
{
    c->calls = adzi_alloc(c->n_launches * sizeof *c->calls);
    c->moves = adzi_alloc(c->n_patches * sizeof *c->moves);
    c->rings = adzi_alloc(c->n_patches * sizeof *c->rings);
    if (c->calls == NULL || c->moves == NULL || c->rings == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->n_launches; ++i) {
        c->calls[i] = call_of(&c->launches[i]);
    }
    for (size_t i = 0; i < c->n_loops; ++i) {
        prepare_patches(c, &c->loops[i]);
    }
    return true;
}

void adzi_plan_free_replay(adzi_captured_call *c)
{
    adzi_free(c->calls, c->n_launches * sizeof *c->calls);
    adzi_free(c->moves, c->n_patches * sizeof *c->moves);
    adzi_free(c->rings, c->n_patches * sizeof *c->rings);
}

/* ---- addresses that move --------------------------------------------------------------------- */

static void begin(const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    const adzi_plan_move *m = c->moves + loop->first_move;
    for (size_t i = 0; i < loop->n_moves; ++i) {
        memcpy(m[i].word, &m[i].first, sizeof m[i].first);
    }
    adzi_plan_ring *r = c->rings + loop->first_ring;
    for (size_t i = 0; i < loop->n_rings; ++i) {
        memcpy(r[i].move.word, &r[i].move.first, sizeof r[i].move.first);
        r[i].position = r[i].begin;
    }
}

static void add_to(char *at, uintptr_t step)
{
    uintptr_t word;
    memcpy(&word, at, sizeof word);
    word += step;
    memcpy(at, &word, sizeof word);
}

static void advance(const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    const adzi_plan_move *m = c->moves + loop->first_move;
    for (size_t i = 0; i < loop->n_moves; ++i) {
        add_to(m[i].word, m[i].step);
    }
    adzi_plan_ring *r = c->rings + loop->first_ring;
    for (size_t i = 0; i < loop->n_rings; ++i) {
        const bool again = ++r[i].position == r[i].length;
        r[i].position = again ? 0 : r[i].position;
        add_to(r[i].move.word, r[i].move.step * (uintptr_t)(again ? 1 - r[i].length : 1));
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* Whether the byte of a TEST or an IF is true, and steps are left. */
static bool goes_on(const adzi_plan_launch *l)
{
    adzi_mark_args *args = (adzi_mark_args *)(void *)l->args;
    return *args->truth != 0 && (args->kind != ADZI_MARK_TEST || args->count++ < args->most);
}

/* The launch that follows mark i. */
static size_t behind_mark(const adzi_captured_call *c, size_t i)
{
    const adzi_plan_launch *l = &c->launches[i];
    switch (adzi_plan_mark_of(l)) {
    case ADZI_MARK_WHILE:
        ((adzi_mark_args *)(void *)c->launches[l->jump].args)->count = 0;
        return i + 1;
    case ADZI_MARK_TEST:
    case ADZI_MARK_IF:
        return goes_on(l) ? i + 1 : l->jump;
    case ADZI_MARK_AGAIN:
    case ADZI_MARK_ELSE:
        return l->jump;
    default:
        return i + 1;
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* Begins the error of a launch with the step that has made it, as in an ordinary call. */
static void name_step(const adzi_plan_launch *l, int64_t time)
{
    adzi_error_record *error = &adzi_self()->error;
    char text[sizeof error->text];
    if (l->loop_op != NULL) {
        memcpy(text, error->text, sizeof text);
        const int begin = snprintf(error->text, sizeof error->text,
            "step %lld of %s: ", (long long)(l->step + time * l->step_moves), l->loop_op);
        snprintf(error->text + begin, sizeof error->text - (size_t)begin, "%s", text);
    }
}

static adz_status run_loop(const adzi_captured_call *c, const adzi_plan_loop *loop);

/* Runs launch i, which belongs to a time of a loop unless `time` is -1, by what it says. Sets the
 * launch that follows. */
static adz_status run_otherwise(const adzi_captured_call *c, size_t i, int64_t time, size_t *next)
{
    const adzi_plan_launch *l = &c->launches[i];
    *next = i + l->chain;
    if (l->loop != 0 && time < 0) {
        const adzi_plan_loop *loop = &c->loops[l->loop - 1];
        *next = i + loop->length;
        return run_loop(c, loop);
    }
    if (l->chain > 1) {
        adzi_plan_run_chain(l);
    } else if (l->kernel != NULL) {
        adzi_launch_sized(l->kernel, l->args, l->size, l->units, l->grain);
    } else if (l->function == adzi_mark) {
        *next = behind_mark(c, i);
    } else {
        adzi_self()->composed = l->composed; /* Note [Errors of compositions] */
        const adz_status status = l->function(l->args);
        adzi_self()->composed = NULL;
        if (status != ADZ_OK) {
            name_step(l, time < 0 ? 0 : time);
        }
        return status;
    }
    return ADZ_OK;
}

/* Runs the launches i .. end-1, which are a time of a loop unless `time` is -1. */
static adz_status run(const adzi_captured_call *c, size_t i, size_t end, int64_t time)
{
    const bool observed = atomic_load_explicit(&adzi_launch_observer, memory_order_acquire) != NULL;
    adz_status status = ADZ_OK;
    while (i < end && status == ADZ_OK) {
        const adzi_plan_call *call = &c->calls[i];
        const int way = observed ? ADZI_PLAN_OTHERWISE : call->way[time >= 0];
        if (way == ADZI_PLAN_BY_LOOP) {
            const adzi_pointwise_args *args = (const adzi_pointwise_args *)(const void *)call->args;
            call->by.loop(args->out, (const void *const *)args->in, call->units, args->p);
            ++i;
        } else if (way == ADZI_PLAN_BY_KERNEL) {
            call->by.kernel(call->args, 0, call->units);
            ++i;
        } else {
            status = run_otherwise(c, i, time, &i);
        }
    }
    return status;
}

static adz_status run_loop(const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    adz_status status = ADZ_OK;
    begin(c, loop);
    for (int64_t t = 0; t < loop->times && status == ADZ_OK; ++t) {
        if (t > 0) {
            advance(c, loop);
        }
        status = run(c, loop->first, loop->first + loop->length, t);
    }
    return status;
}

adz_status adzi_plan_run_launches(const adzi_captured_call *c)
{
    return run(c, 0, c->n_launches, -1);
}
