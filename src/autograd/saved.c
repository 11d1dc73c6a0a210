/* What a node keeps for its backward: saving values, reading and releasing them, and computing them
 * again. */
#include <pthread.h>

#include "autograd/node.h"
#include "base/context.h"
#include "base/threads/fork.h"

/* Note [Inputs that are computed again]
 *
 * This note holds under adz_set_recomputing(). A layer_norm or an activation function saves its own
 * input, from which its result can be computed again. A product that reads this result need not
 * keep it then. The edge of the product says `recomputed`, and the node that computed the result
 * counts the edge among its readers.
 *
 * While the result lives, its storage is saved once for all readers. When the tensor ends and
 * nobody else holds the storage, the elements are released: this happens in the forward, at the end
 * of the scope. The first reader in the backward computes them again. They are then kept until the
 * last reader is done. If the tensor lives until the backward, nothing is computed again.
 *
 * The bits and the errors are those of a saved input. Four rules see to that:
 *
 * - The result has not been written to when it is saved. If it is written to later, its storage is
 *   kept, so that the version of the storage refuses the backward.
 * - A result that another node saves as well is kept, because releasing it would free nothing.
 * - What a result is computed from is saved. So nothing recurses. It is contiguous, because a copy
 *   would take memory for which there was no need before.
 * - A node that has done its own backward keeps what it has saved until its readers are done.
 *
 * A result is kept if it is small, or if the product has little work for each element. It is also
 * kept in a trace, which records all calls.
 *
 * The tensor may end on another thread, which has a reference by adz_keep. Therefore a lock guards
 * the storage of the result. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

ADZI_FORK_TAKES(lock, ADZI_LOCK_SAVED)

enum {
    AGAIN_BYTES = 1 << 16, /* smaller results take little memory */
    AGAIN_WORK = 64        /* with less work for each element, a second forward takes long */
};

bool adzi_is_worth_recomputing(const adz_tensor *t)
{
    const adzi_thread *thread = adzi_self();
    return (size_t)t->numel * adzi_item_size(t) >= AGAIN_BYTES &&
           adzi_recomputes(thread->context) && thread->tracer == NULL;
}

/* ---- saving ---------------------------------------------------------------------------------- */

void adzi_node_save_input(adzi_node *node, int i, adz_tensor *value)
{
    if (adzi_is_none(value)) {
        return;
    }
    adzi_edge *edge = &node->inputs[i];
    edge->saved = value == edge->leaf ? value : adzi_retain(value);
    edge->version = value->storage->version;
    node->saves = true;
    if (edge->node != NULL && edge->node->recompute != NULL) {
        atomic_store_explicit(&edge->node->kept, true, memory_order_relaxed);
    }
}

/* Whether the input that the edge leads to can be computed again instead of being saved. */
static bool can_repeat(const adzi_edge *edge, const adz_tensor *value)
{
    const adzi_node *from = edge->node;
    if (from == NULL || from->recompute == NULL || from->readers == UINT16_MAX ||
        atomic_load_explicit(&from->kept, memory_order_relaxed) || value->node != from ||
        value->storage->version != 0 || !adzi_is_worth_recomputing(value)) {
        return false;
    }
    for (int i = 0; i < from->n_inputs; ++i) {
        const adz_tensor *saved = from->inputs[i].saved;
        if (saved != NULL && !adzi_is_contiguous(saved)) {
            return false;
        }
    }
    return true;
}

/* Saves a storage for all readers of a result. False if another storage is saved already, because
 * the result was computed again before. */
static bool save_for_readers(adzi_result *r, adzi_storage *storage)
{
    pthread_mutex_lock(&lock);
    const bool fits = r->saved == NULL || r->saved == storage;
    if (r->saved == NULL) {
        adzi_refs_take(&storage->refs);
        r->saved = storage;
        r->version = 0;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

void adzi_node_save_factor(adzi_node *node, int i, adz_tensor *value, int64_t work)
{
    adzi_edge *edge = &node->inputs[i];
    if (work < AGAIN_WORK || adzi_is_none(value) || !can_repeat(edge, value) ||
        !save_for_readers(&edge->node->results[0], value->storage)) {
        adzi_node_save_input(node, i, value);
        return;
    }
    edge->recomputed = true;
    edge->version = 0;
    node->saves = true;
    ++edge->node->readers;
    value->recomputable = true;
}

/* Takes the storage of result 0 away from its node. With `ended`, does so only if nobody else than
 * that tensor, which ends, needs the storage. NULL if nothing was taken. */
static adzi_storage *take_storage(adzi_node *node, const adz_tensor *ended)
{
    adzi_result *r = &node->results[0];
    pthread_mutex_lock(&lock);
    adzi_storage *storage = r->saved;
    if (ended != NULL && (atomic_load_explicit(&node->kept, memory_order_relaxed) ||
                             storage != ended->storage || storage->version != r->version ||
                             atomic_load_explicit(&storage->refs, memory_order_acquire) != 2)) {
        storage = NULL;
    } else {
        r->saved = NULL;
    }
    pthread_mutex_unlock(&lock);
    return storage;
}

void adzi_result_ends(adz_tensor *t)
{
    adzi_storage *storage = take_storage(t->node, t);
    if (storage != NULL) {
        adzi_storage_release(storage);
    }
}

/* Ends the reading of an edge that does not keep its input. The last reader of a result releases
 * what is kept for all of them. */
static void end_reading(adzi_edge *edge)
{
    adzi_node *from = edge->node;
    edge->recomputed = false;
    if (--from->readers > 0) {
        return;
    }
    adzi_storage *storage = take_storage(from, NULL);
    if (storage != NULL) {
        adzi_storage_release(storage);
    }
    if (from->released) {
        adzi_node_release_saved(from);
    }
}

void adzi_node_save_result(adzi_node *node, int k, adz_tensor *t)
{
    adzi_refs_take(&t->storage->refs);
    node->results[k].saved = t->storage;
    node->results[k].version = t->storage->version;
    node->saves = true;
}

void adzi_node_save_extra(adzi_node *node, int slot, adz_tensor *t)
{
    node->extras[slot].saved = adzi_retain(t);
    node->extras[slot].version = t->storage->version;
    node->saves = true;
}

void adzi_node_release_saved(adzi_node *node)
{
    if (!node->saves || node->readers > 0) {
        return;
    }
    for (int i = 0, n = node->n_inputs; i < n; ++i) {
        adz_tensor *saved = node->inputs[i].saved;
        node->inputs[i].saved = NULL;
        if (node->inputs[i].recomputed) {
            end_reading(&node->inputs[i]);
        }
        if (saved != node->inputs[i].leaf) {
            adzi_drop(saved);
        }
    }
    for (int k = 0, n = node->n_results; k < n; ++k) {
        adzi_storage *saved = node->results[k].saved;
        node->results[k].saved = NULL;
        if (saved != NULL) {
            adzi_storage_release(saved);
        }
    }
    for (int k = 0, n = node->n_extras; k < n; ++k) {
        adz_tensor *saved = node->extras[k].saved;
        node->extras[k].saved = NULL;
        adzi_drop(saved);
    }
    node->saves = false;
}

/* ---- reading --------------------------------------------------------------------------------- */

static adz_tensor *refuse_version(
    const adzi_node *node, const char *what, int i, const adzi_storage *storage)
{
    adzi_text call = { 0 };
    adzi_error(node->op->name, ADZ_ERR_VERSION,
        "%s %d is needed for the gradient of %s but was changed in place by %s since; use the form that returns a new tensor there",
        what, i, adzi_attr_text(&call, node->op, node->attr),
        storage->writer != NULL ? storage->writer : "a write");
    adzi_text_free(&call);
    return NULL;
}

static adz_tensor *not_saved(const adzi_node *node, const char *what, int i)
{
    adzi_text call = { 0 };
    adzi_error(node->op->name, ADZ_ERR_GRAPH, "%s %d was not saved for the gradient of %s", what, i,
        adzi_attr_text(&call, node->op, node->attr));
    adzi_text_free(&call);
    return NULL;
}

/* The storage of a result that its readers do not keep, with a reference of the caller: the storage
 * that is kept for all of them or, if there is none, one that is computed now and kept if there are
 * other readers. NULL with the error recorded. */
static adzi_storage *recomputed_storage(adzi_thread *thread, adzi_node *from)
{
    adzi_result *r = &from->results[0];
    pthread_mutex_lock(&lock);
    adzi_storage *storage = r->saved;
    if (storage != NULL) {
        adzi_refs_take(&storage->refs);
    }
    pthread_mutex_unlock(&lock);
    if (storage != NULL) {
        return storage;
    }
    const bool recording = thread->grad_enabled;
    const size_t mark = thread->n_temporaries;
    thread->grad_enabled = false;
    adz_tensor *y = from->recompute(from);
    thread->grad_enabled = recording;
    if (y != NULL) {
        storage = y->storage;
        adzi_refs_take(&storage->refs);
    }
    adzi_scope_unwind(thread, mark);
    if (storage != NULL && from->readers > 1) {
        save_for_readers(r, storage);
    }
    return storage;
}

/* Saves an input that its node computes again. False with the error recorded. */
static bool save_recomputed(adzi_node *node, adzi_edge *edge)
{
    adzi_thread *thread = adzi_self();
    adzi_node *from = edge->node;
    const adzi_result *r = &from->results[0];
    adzi_storage *storage = recomputed_storage(thread, from);
    if (storage == NULL) {
        return false;
    }
    adz_tensor *t =
        adzi_tensor_over(thread, node->op->name, storage, (adz_dtype)r->dtype, r->rank, r->sizes);
    adzi_storage_release(storage);
    if (t == NULL) {
        return false;
    }
    adzi_refs_take(&from->refs); /* second derivatives go on through the node */
    t->node = from;
    t->history = storage->history;
    edge->saved = t;
    end_reading(edge);
    return true;
}

adz_tensor *adzi_saved_input(adzi_node *node, int i)
{
    adzi_edge *edge = &node->inputs[i];
    if (edge->recomputed && !save_recomputed(node, edge)) {
        return NULL;
    }
    if (edge->saved == NULL) {
        return not_saved(node, "input", i);
    }
    if (edge->saved->storage->version != edge->version) {
        return refuse_version(node, "input", i, edge->saved->storage);
    }
    return edge->saved;
}

adz_tensor *adzi_saved_result(adzi_node *node, int k)
{
    const adzi_result *r = &node->results[k];
    if (r->saved == NULL) {
        return not_saved(node, "result", k);
    }
    if (r->saved->version != r->version) {
        return refuse_version(node, "result", k, r->saved);
    }
    adzi_thread *thread = adzi_self();
    if (!adzi_scope_reserve(thread, 1)) {
        return adzi_fail_memory(node->op->name, sizeof(adz_tensor));
    }
    adz_tensor *t =
        adzi_tensor_over(thread, node->op->name, r->saved, (adz_dtype)r->dtype, r->rank, r->sizes);
    if (t == NULL) {
        return NULL;
    }
    if (thread->grad_enabled) { /* without recording, nothing would follow the connection */
        adzi_refs_take(&node->refs);
        t->node = node;
        t->result = (uint16_t)k;
        t->history = t->storage->history;
    }
    return adzi_borrow(thread, t);
}

adz_tensor *adzi_saved_extra(adzi_node *node, int slot)
{
    adzi_extra *extra = &node->extras[slot];
    if (extra->saved == NULL) {
        return not_saved(node, "value", slot);
    }
    if (extra->saved->storage->version != extra->version) {
        return refuse_version(node, "value", slot, extra->saved->storage);
    }
    return extra->saved;
}
