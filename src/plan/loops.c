/* Running the launches of a captured call: straight on, in loops, and by marks (Note [Marks among
 * launches]). */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

/* ---- how long blocks are in use -------------------------------------------------------------- */

/* Whether a block keeps its contents from one step to another, or to the launches around a loop
 * with a condition. */
static bool crosses(const adzi_plan_block *block, int64_t begin, int64_t end)
{
    return !block->freed || block->first < begin || block->last > end;
}

/* The blocks of launches begin .. end are in use as long as these run several times: all that do
 * not belong to one step of a loop alone; in a loop with a condition, all that cross its ends. */
static void extend_over(adzi_captured_call *c, int64_t begin, int64_t end, bool counted)
{
    for (int64_t i = begin; i <= end; ++i) {
        const adzi_plan_launch *l = &c->launches[i];
        for (size_t k = 0; k < l->n_references; ++k) {
            adzi_plan_block *block = &c->blocks.all[c->references[l->first_reference + k].block];
            if (counted ? !block->within_step : crosses(block, begin, end)) {
                block->first = block->first < begin ? block->first : begin;
                block->last = block->last > end ? block->last : end;
            }
        }
    }
}

/* The AGAIN of the WHILE at launch i. */
static size_t end_of_while(const adzi_captured_call *c, size_t i)
{
    for (int depth = 0;; ++i) {
        const adzi_mark_kind mark = adzi_plan_mark_of(&c->launches[i]);
        depth += mark == ADZI_MARK_WHILE;
        depth -= mark == ADZI_MARK_AGAIN;
        if (depth == 0 || i + 1 == c->n_launches) {
            return i;
        }
    }
}

void adzi_plan_extend_over_loops(adzi_captured_call *c)
{
    for (size_t i = 0; i < c->n_launches; ++i) {
        if (adzi_plan_mark_of(&c->launches[i]) == ADZI_MARK_WHILE) {
            extend_over(c, (int64_t)i, (int64_t)end_of_while(c, i), false);
        }
    }
    for (size_t i = 0; i < c->n_loops; ++i) {
        const int64_t begin = (int64_t)c->loops[i].first;
        extend_over(c, begin, begin + (int64_t)c->loops[i].length - 1, true);
    }
}

const adzi_plan_loop *adzi_plan_loop_at(const adzi_captured_call *c, size_t launch)
{
    for (size_t i = 0; i < c->n_loops; ++i) {
        if (launch >= c->loops[i].first && launch - c->loops[i].first < c->loops[i].length) {
            return &c->loops[i];
        }
    }
    return NULL;
}

/* Finds where marks lead. `open` has room for as many marks as there are launches. */
static void find_jumps(adzi_captured_call *c, size_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        adzi_plan_launch *l = &c->launches[i];
        switch (adzi_plan_mark_of(l)) {
        case ADZI_MARK_WHILE:
        case ADZI_MARK_IF:
            open[depth++] = i;
            break;
        case ADZI_MARK_TEST:
            c->launches[open[depth - 1]].jump = i; /* whose count the WHILE sets */
            break;
        case ADZI_MARK_AGAIN:
            --depth;
            c->launches[c->launches[open[depth]].jump].jump = i + 1;
            l->jump = open[depth] + 1;
            break;
        case ADZI_MARK_ELSE:
            c->launches[open[depth - 1]].jump = i + 1;
            open[depth - 1] = i;
            break;
        case ADZI_MARK_END:
            c->launches[open[--depth]].jump = i + 1;
            break;
        default:
            break;
        }
    }
}

bool adzi_plan_prepare_loops(adzi_captured_call *c)
{
    const size_t bytes = (c->n_launches + 1) * sizeof(size_t);
    size_t *open = adzi_alloc(bytes);
    if (open == NULL) {
        return false;
    }
    find_jumps(c, open);
    adzi_free(open, bytes);
    for (size_t i = 0; i < c->n_loops; ++i) {
        c->launches[c->loops[i].first].loop = i + 1;
    }
    for (size_t i = 0; i < c->n_patches; ++i) {
        adzi_plan_patch *p = &c->patches[i];
        p->word = c->launches[p->launch].args + p->at;
        memcpy(&p->first, p->word, sizeof p->first);
    }
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

static void begin(adzi_plan_patch *patches, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        memcpy(patches[i].word, &patches[i].first, sizeof patches[i].first);
        patches[i].position = patches[i].begin;
    }
}

static void advance(adzi_plan_patch *patches, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        adzi_plan_patch *p = &patches[i];
        uintptr_t word;
        memcpy(&word, p->word, sizeof word);
        word += p->step;
        if (p->ring != 0 && ++p->position == p->ring) {
            p->position = 0;
            word -= p->step * (uintptr_t)p->ring;
        }
        memcpy(p->word, &word, sizeof word);
    }
}

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

static adz_status run_loop(const adzi_captured_call *c, const adzi_plan_loop *loop);

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

/* Runs the launches i .. end-1, which are a time of a loop unless `time` is -1. */
static adz_status run(const adzi_captured_call *c, size_t i, size_t end, int64_t time)
{
    adz_status status = ADZ_OK;
    while (i < end && status == ADZ_OK) {
        const adzi_plan_launch *l = &c->launches[i];
        if (l->loop != 0 && time < 0) {
            const adzi_plan_loop *loop = &c->loops[l->loop - 1];
            status = run_loop(c, loop);
            i += loop->length;
        } else if (l->chain > 1) {
            adzi_plan_run_chain(l);
            i += l->chain;
        } else if (l->kernel != NULL) {
            adzi_launch_sized(l->kernel, l->args, l->size, l->units, l->grain);
            ++i;
        } else if (l->function == adzi_mark) {
            i = behind_mark(c, i);
        } else {
            adzi_self()->composed = l->composed; /* Note [Errors of compositions] */
            status = l->function(l->args);
            adzi_self()->composed = NULL;
            if (status != ADZ_OK) {
                name_step(l, time < 0 ? 0 : time);
            }
            ++i;
        }
    }
    return status;
}

static adz_status run_loop(const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    adzi_plan_patch *patches = c->patches + loop->first_patch;
    adz_status status = ADZ_OK;
    begin(patches, loop->n_patches);
    for (int64_t t = 0; t < loop->times && status == ADZ_OK; ++t) {
        if (t > 0) {
            advance(patches, loop->n_patches);
        }
        status = run(c, loop->first, loop->first + loop->length, t);
    }
    return status;
}

adz_status adzi_plan_run_launches(const adzi_captured_call *c)
{
    return run(c, 0, c->n_launches, -1);
}

/* ---- comparing ------------------------------------------------------------------------------- */

bool adzi_plan_same_loops(const adzi_captured_call *a, const adzi_captured_call *b)
{
    bool same = a->n_loops == b->n_loops && a->n_patches == b->n_patches;
    for (size_t i = 0; i < b->n_loops && same; ++i) {
        const adzi_plan_loop *x = &a->loops[i], *y = &b->loops[i];
        same = x->first == y->first && x->length == y->length && x->times == y->times &&
               x->n_patches == y->n_patches;
    }
    for (size_t i = 0; i < b->n_patches && same; ++i) {
        const adzi_plan_patch *x = &a->patches[i], *y = &b->patches[i];
        same = x->launch == y->launch && x->at == y->at && x->step == y->step &&
               x->ring == y->ring && x->begin == y->begin;
    }
    return same;
}
