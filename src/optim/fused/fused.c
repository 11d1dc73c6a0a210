/* The elementwise update of a large parameter, computed block by block.
 *
 * Note [Updates by blocks]
 * The update of most optimizers is a dozen elementwise operators. Run one after the other, each of
 * them reads and writes whole tensors, which no cache holds. So the launches of an update are put
 * off by a capture. When the parameter may change, a block of some thousand elements goes through
 * all of them before the next block does. The results of the operators of one block stay in the
 * first cache, and no tensor holds all of them. No bit changes, because an elementwise kernel gives
 * the same bits however its elements are cut.
 *
 * Nothing is believed of a type. The launches are run at once, in their order, as soon as something
 * happens that is not understood:
 *
 * - a launch that is not elementwise, or is for another number of elements than the parameter has.
 *   A launch of one element, such as 1 - beta, is run at once and the others go on to wait;
 * - an operand that is no scalar, and neither the parameter, its gradient, a state, nor the result
 *   of a launch that waits;
 * - a function that reads elements on the host, or that no plan captures; and freed memory.
 *
 * They are run at the end if somebody else holds a tensor that the update has made. */
#include "optim/fused/fused.h"

#include <stdalign.h>
#include <string.h>

#include "optim/fused/record.h"

enum {
    LEAST = 8192, /* elements of a parameter; the tensors of smaller ones stay in the caches */
    SLOTS = 8,    /* temporaries that live at one time */
    SLOT_BYTES = 16384
};

static void add_input(adzi_fused *f, const adz_tensor *t)
{
    f->last_read[f->n_inputs] = -1;
    f->inputs[f->n_inputs++] = t->data;
}

adzi_fused *adzi_fused_begin(const adzi_fused_inputs *inputs)
{
    const adzi_thread *thread = adzi_self();
    const adz_tensor *w = inputs->w;
    if (w->numel < LEAST || thread->capture != NULL || thread->tracer != NULL) {
        return NULL;
    }
    adzi_fused *f = adzi_alloc(sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    memset(f, 0, offsetof(adzi_fused, blocks));
    f->count = w->numel;
    f->item = adzi_item_size(w);
    add_input(f, w);
    add_input(f, inputs->dw);
    for (int k = 0; k < inputs->n_states; ++k) {
        if (adzi_fused_stores(w, inputs->states[k])) {
            add_input(f, inputs->states[k]);
        }
    }
    adzi_fused_begin_capture(f);
    return f;
}

/* ---- the end of the update ------------------------------------------------------------------ */

/* Whether a temporary may be written over what it replaces: no later step reads the old elements.
 */
static bool goes_home(const adzi_fused *f, const adzi_fused_temporary *t, const char *old)
{
    const int input = adzi_fused_input_at(f, old);
    return input >= 0 && f->last_read[input] <= t->first;
}

/* Notes a result that is like the parameter. */
static bool add_stored(
    adzi_fused *f, const adz_tensor *old, const adz_tensor *result, const adz_tensor *dw)
{
    if (result == old) {
        return true;
    }
    if (result->numel != f->count || adzi_item_size(result) != f->item ||
        !adzi_is_contiguous(result)) {
        return false;
    }
    const int i = adzi_fused_temporary_at(f, result->data);
    adzi_fused_temporary *t = i >= 0 ? &f->temporaries[i] : NULL;
    if (t != NULL && t->last < ADZI_FUSED_STEPS && goes_home(f, t, old->data)) {
        t->home = old->data;
    } else {
        f->stored[f->n_stored++] = (adzi_fused_stored){ old->data, result->data, i };
    }
    if (t == NULL) {
        return result->data == dw->data;
    }
    const bool apart = t->home == NULL || t->last < ADZI_FUSED_STEPS; /* one result */
    t->last = ADZI_FUSED_STEPS;
    return apart && result->data == t->begin;
}

/* Whether the scope alone holds a temporary. */
static bool is_ours(const adzi_fused_temporary *t, size_t mark)
{
    const adzi_thread *thread = adzi_self();
    size_t holders = 0, exclusive = 0;
    for (size_t i = mark; i < thread->n_temporaries; ++i) {
        const adz_tensor *held = thread->temporaries[i];
        if (held->data == t->begin) {
            ++holders;
            exclusive += adzi_is_exclusive(held);
        }
    }
    return holders > 0 && exclusive == holders;
}

/* Gives a slot to the temporary that step i writes first. It may be that of an input which is used
 * no more, because the kernels may write over an input with elements of the same size. */
static bool take_slot(adzi_fused_temporary *t, const adzi_fused_temporary **slots)
{
    const int i = t->first;
    for (int k = 0; k < SLOTS; ++k) {
        const adzi_fused_temporary *in = slots[k];
        if (in == NULL || in->last < i || (in->last == i && in->item == t->item)) {
            slots[k] = t;
            t->slot = k;
            return true;
        }
    }
    return false;
}

static bool take_slots(adzi_fused *f)
{
    const adzi_fused_temporary *slots[SLOTS] = { NULL };
    bool good = true;
    for (int i = 0; i < f->n_temporaries && good; ++i) { /* in the order of their first steps */
        adzi_fused_temporary *t = &f->temporaries[i];
        good = t->home != NULL || take_slot(t, slots);
    }
    return good;
}

bool adzi_fused_end(
    adzi_fused *f, const adzi_fused_inputs *inputs, adz_tensor *const *results, size_t mark)
{
    adzi_fused_end_capture(f);
    bool good = !f->done;
    for (int k = 0; k <= inputs->n_states && good; ++k) {
        const adz_tensor *old = k == 0 ? inputs->w : inputs->states[k - 1];
        if (adzi_is_none(old)) {
            continue;
        }
        good = results[k] != NULL && !adzi_is_none(results[k]) &&
               (!adzi_fused_stores(inputs->w, old) || add_stored(f, old, results[k], inputs->dw));
    }
    for (int i = 0; i < f->n_temporaries && good; ++i) {
        good = is_ours(&f->temporaries[i], mark);
    }
    good = good && take_slots(f);
    if (!good && !f->done) {
        adzi_fused_run_all(f);
    }
    return good;
}

/* ---- the blocks ----------------------------------------------------------------------------- */

typedef struct {
    const adzi_fused *fused;
} run_args;

ADZI_ADDRESSES(run_args, fused);

typedef struct {
    alignas(ADZI_ALIGNMENT) char bytes[SLOT_BYTES + ADZI_ALIGNMENT]; /* no power of two */
} slot;

/* Lets the arguments of a step find element `at` of each temporary at the begin of its slot. */
static void move_to_slots(
    const adzi_fused *f, const adzi_fused_step *s, adzi_fused_args *args, slot *slots, int64_t at)
{
    for (int k = 0; k < s->n_moved; ++k) {
        const adzi_fused_temporary *t = &f->temporaries[s->moved[k].temporary];
        const uintptr_t begin = t->home != NULL
                                    ? (uintptr_t)t->home
                                    : (uintptr_t)slots[t->slot].bytes - (uintptr_t)at * t->item;
        memcpy((char *)args + s->moved[k].at, &begin, sizeof begin);
    }
}

static void store(const adzi_fused *f, const slot *slots, int64_t at, int64_t to)
{
    const size_t before = (size_t)at * f->item, bytes = (size_t)(to - at) * f->item;
    for (int k = 0; k < f->n_stored; ++k) {
        const adzi_fused_stored *r = &f->stored[k];
        memcpy(r->to + before,
            r->temporary >= 0 ? slots[f->temporaries[r->temporary].slot].bytes : r->from + before,
            bytes);
    }
}

/* A kernel: the elements begin .. end-1 of the parameter. */
static void run_blocks(const void *block, int64_t begin, int64_t end)
{
    const adzi_fused *f = ((const run_args *)block)->fused;
    const int64_t length = SLOT_BYTES / (int64_t)f->item;
    slot slots[SLOTS];
    adzi_fused_args args[ADZI_FUSED_STEPS];
    for (int i = 0; i < f->n_steps; ++i) {
        memcpy(&args[i], &f->steps[i].args, f->steps[i].size);
    }
    for (int64_t at = begin; at < end; at += length) {
        const int64_t to = at + length < end ? at + length : end;
        for (int i = 0; i < f->n_steps; ++i) {
            move_to_slots(f, &f->steps[i], &args[i], slots, at);
            f->steps[i].kernel(&args[i], at, to);
        }
        store(f, slots, at, to);
    }
}

void adzi_fused_apply(const adzi_fused *f)
{
    const run_args args = { f };
    adzi_launch(run_blocks, run_args, &args, f->count, ADZI_FUSED_GRAIN);
}

void adzi_fused_free(adzi_fused *f)
{
    if (f != NULL) {
        adzi_fused_end_capture(f);
        adzi_free(f, sizeof *f);
    }
}
