/* Loops of a captured call: how long they use blocks, where marks lead (Note [Marks among
 * launches]), and whether two calls have equal ones. */
#include <string.h>

#include "base/alloc.h"
#include "plan/replay.h"

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
    return true;
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
