/* Gradients of leaves: where they are stored, when a leaf is ready, and the hooks that then run. */
#include "autograd/leaf.h"
#include "autograd/operators.h"

#include "autograd/op.h"

/* ---- gradients with a place ------------------------------------------------------------------ */

bool adzi_place_is_free(const adzi_gradient *gradient)
{
    return gradient->place != NULL && !adzi_is_summed_in(gradient->slot);
}

/* Whether the changes of gradients have to be traced calls. They can fail then, which the trace
 * notices. */
static bool is_traced(void)
{
    return adzi_self()->tracer != NULL;
}

static void set_to_zero(adz_tensor *t)
{
    if (is_traced()) {
        adz_fill_(t, 0);
        return;
    }
    adzi_fill(t, 0);
    adzi_written(t, ADZI_BACKWARD_NAME);
}

/* Makes `t` the gradient of a leaf that has none, by a traced call: a copy in the place, or one
 * that only the leaf has. */
static bool store_traced(adzi_gradient *gradient, adz_tensor *place, adz_tensor *t)
{
    adz_tensor *stored = place != NULL ? adz_copy_(place, t) : adz_clone(t);
    gradient->grad = stored != NULL ? adzi_retain(stored) : NULL;
    return stored != NULL;
}

bool adzi_gradient_set_traced(adzi_gradient *gradient, adz_tensor *t)
{
    adzi_thread *thread = adzi_self();
    adz_tensor *before = gradient->grad;
    const bool records = thread->grad_enabled;
    thread->grad_enabled = false;
    const bool good =
        store_traced(gradient, adzi_place_is_free(gradient) ? gradient->place : NULL, t);
    thread->grad_enabled = records;
    adzi_drop(before);
    gradient->spoiled = false;
    return good;
}

void adzi_gradient_drop(adzi_gradient *gradient)
{
    adz_tensor *grad = gradient->grad;
    adzi_trace_gradient(gradient, true);
    adzi_capture_gradient(gradient);
    gradient->grad = NULL;
    gradient->spoiled = false;
    if (grad != NULL && grad == gradient->place) {
        set_to_zero(grad);
    }
    adzi_drop(grad);
}

void adzi_gradient_taken(adzi_gradient *gradient, const char *op)
{
    adz_tensor *grad = gradient->grad;
    adzi_capture_gradient(gradient);
    gradient->grad = NULL;
    gradient->spoiled = false;
    if (grad != NULL) {
        adzi_written(grad, op);
        adzi_drop(grad);
    }
}

void adzi_gradient_zero(adzi_gradient *gradient)
{
    adzi_trace_gradient(gradient, gradient->grad != NULL);
    adzi_capture_gradient(gradient);
    gradient->spoiled = false;
    if (gradient->grad != NULL) {
        set_to_zero(gradient->grad);
    }
}

/* A tensor that the user has made the result of an operator in place becomes a plain one again. */
static void make_plain(adz_tensor *t)
{
    if (t->node != NULL) {
        adzi_node_release(adzi_self(), t->node);
        t->node = NULL;
    }
    t->requires_grad = false;
}

void adzi_gradient_placed(adzi_gradient *gradient, const char *op)
{
    adz_tensor *before = gradient->grad;
    make_plain(gradient->place);
    adzi_written(gradient->place, op);
    if (before != gradient->place) {
        gradient->grad = adzi_retain(gradient->place);
        adzi_drop(before);
    }
}

/* Whether `t` is a view of the place, which cannot be copied there. */
static bool is_view_of(const adz_tensor *t, const adz_tensor *place)
{
    return t != place && t->storage == place->storage;
}

/* Replaces the sum by a copy that nobody else has. */
static bool copy_sum(adzi_run *run, adzi_leaf_slot *slot)
{
    const adz_tensor *sum = slot->grad;
    adz_tensor *copy = adzi_tensor_new(
        run->thread, ADZI_BACKWARD_NAME, (adz_dtype)sum->dtype, sum->rank, sum->sizes);
    if (copy == NULL) {
        return false;
    }
    adzi_copy(copy, sum);
    adzi_drop(slot->grad);
    slot->grad = copy;
    return true;
}

/* Adds the sum of a run to what the place stands for. The engine owns both, so every case below
 * gives the bits of `earlier gradient + sum`. */
static bool commit_in_place(adzi_run *run, adzi_leaf_slot *slot)
{
    adzi_gradient *gradient = slot->leaf->gradient;
    adz_tensor *place = gradient->place, *earlier = gradient->grad;
    if (is_view_of(slot->grad, place) && !copy_sum(run, slot)) {
        return false;
    }
    if (slot->grad != place && earlier != place) { /* nothing useful lies in the place */
        adzi_copy(place, slot->grad);
    } else if (slot->grad != place) {
        adzi_accumulate(place, slot->grad);
    }
    if (earlier != NULL && (earlier != place || slot->grad == place)) {
        adzi_accumulate(place, earlier);
    }
    adzi_gradient_placed(gradient, ADZI_BACKWARD_NAME);
    slot->placed = false;
    return true;
}

/* ---- committing ------------------------------------------------------------------------------ */

/* Makes sure that the sum can become the gradient of its leaf: the only part that can fail. */
static bool own_sum(adzi_run *run, adzi_leaf_slot *slot)
{
    const adz_tensor *sum = slot->grad;
    if (sum == NULL || slot->leaf->gradient->grad != NULL) {
        return true;
    }
    bool ours = adzi_is_exclusive(sum) && sum->storage->deleter == NULL &&
                adzi_is_contiguous(sum) && sum->node == NULL;
    return ours || copy_sum(run, slot);
}

static void install_sum(adzi_leaf_slot *slot)
{
    adz_tensor **grad = &slot->leaf->gradient->grad;
    if (slot->grad == NULL) {
        return;
    }
    adzi_may_be_written(slot->grad);
    if (*grad == NULL) {
        *grad = slot->grad;
        slot->grad = NULL;
    } else {
        adzi_accumulate(*grad, slot->grad);
        adzi_written(*grad, ADZI_BACKWARD_NAME);
    }
}

/* Adds the sum to the gradient of its leaf, or makes it the gradient, by traced calls. */
static bool commit_traced(adzi_leaf_slot *slot)
{
    adzi_gradient *gradient = slot->leaf->gradient;
    if (slot->grad == NULL) {
        return true;
    }
    return gradient->grad != NULL ? adz_add_(gradient->grad, slot->grad) != NULL
                                  : store_traced(gradient, gradient->place, slot->grad);
}

/* Commits all leaves by traced calls. A trace undoes the changes in any case. */
static bool commit_all_traced(adzi_run *run)
{
    const bool records = run->thread->grad_enabled;
    bool good = true;
    run->thread->grad_enabled = false;
    for (adzi_leaf_slot *s = run->leaves; s != NULL && good; s = s->next) {
        good = commit_traced(s);
    }
    run->thread->grad_enabled = records;
    return good;
}

bool adzi_leaves_commit(adzi_run *run)
{
    if (run->express) {
        return commit_all_traced(run);
    }
    for (adzi_leaf_slot *s = run->leaves; s != NULL; s = s->next) {
        if (!own_sum(run, s)) {
            return false;
        }
    }
    for (adzi_leaf_slot *s = run->leaves; s != NULL; s = s->next) {
        install_sum(s);
    }
    return true;
}

/* Commits a leaf that does not wait for the end. Nothing remains in its slot. */
static bool commit_now(adzi_run *run, adzi_leaf_slot *slot)
{
    bool enclosed = slot->outer != NULL && adzi_is_summed_in(slot->outer);
    if (run->express) {
        if (!commit_traced(slot)) {
            return false;
        }
    } else if (slot->leaf->gradient->place != NULL && !enclosed) {
        if (!commit_in_place(run, slot)) {
            return false;
        }
    } else if (own_sum(run, slot)) {
        install_sum(slot);
    } else {
        return false;
    }
    slot->committed = true;
    adzi_drop(slot->grad);
    slot->grad = NULL;
    return true;
}

bool adzi_leaf_ready(adzi_run *run, adzi_leaf_slot *slot)
{
    adzi_gradient *gradient = slot->leaf->gradient;
    if (gradient->hooks != NULL &&
        adzi_hooks_run(ADZI_BACKWARD_NAME, gradient->hooks, &slot->grad) != ADZ_OK) {
        return false;
    }
    const bool hooked = gradient->after != NULL && gradient->after->count > 0;
    if (!run->commits || (gradient->place == NULL && !hooked)) {
        return true;
    }
    return commit_now(run, slot) && (!hooked || adzi_hooks_run_after(ADZI_BACKWARD_NAME,
                                                    gradient->after, slot->leaf) == ADZ_OK);
}

void adzi_leaf_undo(adzi_leaf_slot *slot)
{
    adzi_gradient *gradient = slot->leaf->gradient;
    if (slot->run->express) {
        return; /* the trace restores all gradients */
    }
    if (slot->placed && gradient->place != NULL && gradient->grad != gradient->place) {
        if (gradient->grad != NULL) { /* it was stored elsewhere while this run summed here */
            adzi_copy(gradient->place, gradient->grad);
            adzi_gradient_placed(gradient, ADZI_BACKWARD_NAME);
        } else {
            set_to_zero(gradient->place);
        }
    }
    if (slot->committed && gradient->grad != NULL) {
        set_to_zero(gradient->grad);
        gradient->spoiled = true;
    }
}
