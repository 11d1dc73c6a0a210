/* Running the loops of a captured call. */
#include <string.h>

#include "plan/plan.h"

/* Whether a block is used by launches of the loop alone, and by one step at a time. */
static void extend_over(adzi_captured_call *c, const adzi_plan_loop *loop)
{
    const int64_t begin = (int64_t)loop->first, end = begin + (int64_t)loop->length - 1;
    for (size_t i = loop->first; i < loop->first + loop->length; ++i) {
        const adzi_plan_launch *l = &c->launches[i];
        for (size_t k = 0; k < l->n_references; ++k) {
            adzi_plan_block *block = &c->blocks.all[c->references[l->first_reference + k].block];
            if (!block->within_step) {
                block->first = block->first < begin ? block->first : begin;
                block->last = block->last > end ? block->last : end;
            }
        }
    }
}

void adzi_plan_extend_over_loops(adzi_captured_call *c)
{
    for (size_t i = 0; i < c->n_loops; ++i) {
        extend_over(c, &c->loops[i]);
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

void adzi_plan_prepare_loops(adzi_captured_call *c)
{
    for (size_t i = 0; i < c->n_patches; ++i) {
        adzi_plan_patch *p = &c->patches[i];
        p->word = c->launches[p->launch].args + p->at;
        memcpy(&p->first, p->word, sizeof p->first);
    }
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

static adz_status run_step(const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    const adzi_plan_launch *end = c->launches + loop->first + loop->length;
    for (const adzi_plan_launch *l = c->launches + loop->first; l < end; ++l) {
        if (l->kernel != NULL) {
            adzi_launch_sized(l->kernel, l->args, l->size, l->units, l->grain);
            continue;
        }
        adzi_self()->composed = l->composed; /* Note [Errors of compositions] */
        const adz_status status = l->function(l->args);
        adzi_self()->composed = NULL;
        if (status != ADZ_OK) {
            return status;
        }
    }
    return ADZ_OK;
}

adz_status adzi_plan_run_loop(const adzi_captured_call *c, const adzi_plan_loop *loop)
{
    adzi_plan_patch *patches = c->patches + loop->first_patch;
    adz_status status = ADZ_OK;
    begin(patches, loop->n_patches);
    for (int64_t t = 0; t < loop->times && status == ADZ_OK; ++t) {
        if (t > 0) {
            advance(patches, loop->n_patches);
        }
        status = run_step(c, loop);
    }
    return status;
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
