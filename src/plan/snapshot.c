/* What a function changes, and how it is put back. */
#include "plan/snapshot.h"

#include <string.h>

#include "tensor/copy.h"

/* ---- elements ------------------------------------------------------------------------------- */

/* A copy of a tensor's elements. The caller has its one reference. */
static adz_tensor *copy_of(const char *op, const adz_tensor *t)
{
    adz_tensor *copy = adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (copy != NULL) {
        const bool open = adzi_trace_open(true);
        adzi_copy(copy, t);
        adzi_trace_open(open);
    }
    return copy;
}

/* Puts an earlier content back into a tensor that has changed since. */
static void put_back(adz_tensor *t, const adz_tensor *copy, uint32_t version)
{
    if (t->storage->version != version) {
        adzi_copy(t, copy);
        t->storage->version = version;
    }
}

/* ---- buffers -------------------------------------------------------------------------------- */

bool adzi_kept_add_buffer(adzi_kept_state *kept, adz_module *module, size_t index, adz_tensor *t)
{
    for (size_t i = 0; i < kept->n_buffers; ++i) {
        if (kept->buffers[i].module == module && kept->buffers[i].index == index) {
            return true;
        }
    }
    if (!adzi_grow(
            &kept->buffers, &kept->buffers_capacity, kept->n_buffers + 1, sizeof *kept->buffers)) {
        adzi_fail_memory(kept->op, sizeof *kept->buffers);
        return false;
    }
    const bool none = adzi_is_none(t);
    adz_tensor *copy = none ? NULL : copy_of(kept->op, t);
    if (!none && copy == NULL) {
        return false;
    }
    kept->buffers[kept->n_buffers++] = (adzi_kept_buffer){ module, index, none ? t : adzi_retain(t),
        copy, none ? 0 : t->storage->version };
    return true;
}

/* Keeps a module's buffers. */
static adz_status keep_buffers(adz_module *module, const char *prefix, void *user)
{
    (void)prefix;
    for (size_t i = 0; i < module->n_buffers; ++i) {
        if (!adzi_kept_add_buffer(user, module, i, module->buffers[i].tensor)) {
            return ADZ_ERR_MEMORY;
        }
    }
    return ADZ_OK;
}

static void restore_buffers(adzi_kept_state *kept)
{
    for (size_t i = 0; i < kept->n_buffers; ++i) {
        adzi_kept_buffer *b = &kept->buffers[i];
        adzi_slot *slot = &b->module->buffers[b->index];
        if (slot->tensor != b->tensor) {
            adz_tensor *replaced = slot->tensor;
            slot->tensor = b->tensor;
            b->tensor = replaced;
            adzi_module_buffer_replaced(b->module);
        }
        if (b->copy != NULL) {
            put_back(slot->tensor, b->copy, b->version);
        }
        adzi_drop(b->tensor);
        adzi_drop(b->copy);
    }
}

adzi_kept_state *adzi_kept_new(const char *op, adz_module *module)
{
    adzi_kept_state *kept = adzi_alloc_zero(sizeof *kept);
    if (kept == NULL) {
        return adzi_fail_memory(op, sizeof *kept);
    }
    kept->op = op;
    adzi_text prefix = { 0 };
    const adz_status status =
        module != NULL ? adzi_module_walk(module, &prefix, keep_buffers, kept) : ADZ_OK;
    adzi_text_free(&prefix);
    if (status != ADZ_OK) {
        if (adzi_pending() == ADZ_OK) {
            adzi_fail_memory(op, sizeof *kept);
        }
        adzi_kept_restore(kept);
        return NULL;
    }
    return kept;
}

/* ---- gradients ------------------------------------------------------------------------------ */

static bool is_leaf(const void *list, size_t position, const void *key, size_t size)
{
    const adzi_kept_gradient *gradients = list;
    (void)size;
    return memcmp(&gradients[position].leaf, key, sizeof(adz_tensor *)) == 0;
}

adzi_kept_gradient *adzi_kept_add_gradient(
    adzi_kept_state *kept, adzi_gradient *gradient, bool replaced)
{
    adz_tensor *leaf = gradient->leaf, *grad = gradient->grad;
    const size_t known =
        adzi_index_find(&kept->by_leaf, &leaf, sizeof leaf, is_leaf, kept->gradients);
    if (known != ADZI_NOWHERE) {
        return &kept->gradients[known];
    }
    if (!adzi_grow(&kept->gradients, &kept->gradients_capacity, kept->n_gradients + 1,
            sizeof *kept->gradients) ||
        !adzi_index_reserve(&kept->by_leaf, 1)) {
        return adzi_fail_memory(kept->op, sizeof *kept->gradients);
    }
    adz_tensor *copy = grad != NULL ? copy_of(kept->op, grad) : NULL;
    if (grad != NULL && copy == NULL) {
        return NULL;
    }
    adzi_kept_gradient *g = &kept->gradients[kept->n_gradients];
    *g = (adzi_kept_gradient){ .leaf = adzi_retain(leaf),
        .grad = grad != NULL ? adzi_retain(grad) : NULL,
        .copy = copy,
        .version = grad != NULL ? grad->storage->version : 0,
        .of_place = gradient->place != NULL ? gradient->place->storage->version : 0,
        .spoiled = gradient->spoiled,
        .replaced = replaced };
    adzi_index_enter(&kept->by_leaf, &leaf, sizeof leaf, kept->n_gradients++);
    return g;
}

/* While a leaf has no gradient, its place holds zeros. */
static void restore_gradient(adzi_kept_gradient *g)
{
    adzi_gradient *gradient = g->leaf->gradient;
    adz_tensor *now = gradient->grad, *place = gradient->place;
    gradient->grad = g->grad; /* with the reference of `g` */
    gradient->spoiled = g->spoiled;
    adzi_drop(now);
    if (g->grad != NULL) {
        put_back(g->grad, g->copy, g->version);
    }
    if (place != NULL && place != g->grad && place->storage->version != g->of_place) {
        adzi_fill(place, 0);
        place->storage->version = g->of_place;
    }
    adzi_drop(g->copy);
    adzi_drop(g->leaf);
}

/* ---- optimizers ----------------------------------------------------------------------------- */

static adzi_kept_optimizer *find_optimizer(const adzi_kept_state *kept, const adz_optimizer *o)
{
    for (size_t i = 0; i < kept->n_optimizers; ++i) {
        if (kept->optimizers[i].optimizer == o) {
            return &kept->optimizers[i];
        }
    }
    return NULL;
}

static void keep_update(adzi_kept_update *to, const adzi_kept *from)
{
    to->steps = from->steps;
    to->fresh = from->fresh;
    memcpy(to->numbers, from->numbers, sizeof to->numbers);
    for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
        to->state[k] = from->state[k] != NULL ? adzi_retain(from->state[k]) : NULL;
    }
}

adzi_kept_optimizer *adzi_kept_add_optimizer(adzi_kept_state *kept, adz_optimizer *optimizer)
{
    adzi_kept_optimizer *known = find_optimizer(kept, optimizer);
    if (known != NULL) {
        return known;
    }
    size_t count = 0;
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        count += optimizer->groups[g]->count;
    }
    adzi_kept_update *updates = adzi_alloc_zero((count + 1) * sizeof *updates);
    if (updates == NULL || !adzi_grow(&kept->optimizers, &kept->optimizers_capacity,
                               kept->n_optimizers + 1, sizeof *kept->optimizers)) {
        adzi_free(updates, updates != NULL ? (count + 1) * sizeof *updates : 0);
        return adzi_fail_memory(kept->op, (count + 1) * sizeof *updates);
    }
    adzi_optimizer_settle(optimizer);
    size_t n = 0;
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            keep_update(&updates[n++], &optimizer->groups[g]->kept[i]);
        }
    }
    adzi_kept_optimizer *added = &kept->optimizers[kept->n_optimizers++];
    *added = (adzi_kept_optimizer){ adz_optimizer_keep(optimizer), updates, count };
    return added;
}

const adzi_kept_update *adzi_kept_update_of(
    const adzi_kept_state *kept, const adzi_parameter_position *position)
{
    const adzi_kept_optimizer *k = find_optimizer(kept, position->optimizer);
    size_t at = position->i;
    for (size_t g = 0; g < position->group; ++g) {
        at += position->optimizer->groups[g]->count;
    }
    return k != NULL ? &k->updates[at] : NULL;
}

/* The elements of states have been put back, because they were changed by traced calls. */
static void restore_optimizer(adzi_kept_optimizer *k)
{
    adz_optimizer *o = k->optimizer;
    size_t n = 0;
    adzi_optimizer_settle(o);
    for (size_t g = 0; g < o->n_groups; ++g) {
        for (size_t i = 0; i < o->groups[g]->count; ++i) {
            const adzi_kept_update *from = &k->updates[n++];
            adzi_kept *to = &o->groups[g]->kept[i];
            to->steps = from->steps;
            to->fresh = from->fresh;
            memcpy(to->numbers, from->numbers, sizeof to->numbers);
            for (int s = 0; s < ADZ_OPTIMIZER_STATES; ++s) {
                adz_tensor *now = to->state[s];
                to->state[s] = from->state[s]; /* with the reference of `from` */
                adzi_drop(now);
            }
        }
    }
    adzi_free(k->updates, (k->count + 1) * sizeof *k->updates);
    adz_optimizer_release(&k->optimizer);
}

/* ---- contents of storages ------------------------------------------------------------------- */

static bool has_storage(const void *list, size_t position, const void *key, size_t size)
{
    const adzi_kept_contents *contents = list;
    (void)size;
    return memcmp(&contents[position].tensor->storage, key, sizeof(adzi_storage *)) == 0;
}

static bool is_kept(const adzi_kept_state *kept, const adz_tensor *t)
{
    return adzi_index_find(&kept->by_storage, &t->storage, sizeof t->storage, has_storage,
               kept->contents) != ADZI_NOWHERE;
}

bool adzi_kept_add_contents(adzi_kept_state *kept, adz_tensor *t)
{
    if (is_kept(kept, t)) {
        return true;
    }
    const size_t bytes = t->storage->bytes;
    char *copy = adzi_alloc(bytes);
    if (copy == NULL ||
        !adzi_grow(&kept->contents, &kept->contents_capacity, kept->n_contents + 1,
            sizeof *kept->contents) ||
        !adzi_index_reserve(&kept->by_storage, 1)) {
        adzi_free(copy, copy != NULL ? bytes : 0);
        adzi_fail_memory(kept->op, bytes);
        return false;
    }
    memcpy(copy, t->storage->data, bytes);
    kept->contents[kept->n_contents] =
        (adzi_kept_contents){ adzi_retain(t), copy, t->storage->version };
    adzi_index_enter(&kept->by_storage, &t->storage, sizeof t->storage, kept->n_contents++);
    return true;
}

/* The version does not tell whether there is anything to put back: the states of optimizers change
 * without it. */
static void restore_contents(const adzi_kept_contents *c)
{
    adzi_storage *storage = c->tensor->storage;
    memcpy(storage->data, c->copy, storage->bytes);
    storage->version = c->version;
    adzi_free(c->copy, storage->bytes);
    adzi_drop(c->tensor);
}

bool adzi_kept_has(const adzi_kept_state *kept, const adz_tensor *t)
{
    bool has = is_kept(kept, t);
    for (size_t i = 0; i < kept->n_gradients && !has; ++i) {
        const adzi_kept_gradient *g = &kept->gradients[i];
        const adz_tensor *place = g->leaf->gradient->place;
        has = (g->grad != NULL && g->grad->storage == t->storage) ||
              (place != NULL && place->storage == t->storage);
    }
    for (size_t i = 0; i < kept->n_buffers && !has; ++i) {
        has = kept->buffers[i].copy != NULL && kept->buffers[i].tensor->storage == t->storage;
    }
    return has;
}

/* ---- everything ----------------------------------------------------------------------------- */

static void restore_generators(const adzi_draws *draws)
{
    for (size_t i = 0; i < draws->count && i < ADZI_MOST_DRAWN; ++i) {
        if (draws->drawn[i].generator != NULL) {
            draws->drawn[i].generator->state = draws->drawn[i].before;
        }
    }
}

void adzi_kept_restore(adzi_kept_state *kept)
{
    restore_generators(&kept->draws);
    for (size_t i = 0; i < kept->n_gradients; ++i) {
        restore_gradient(&kept->gradients[i]);
    }
    for (size_t i = 0; i < kept->n_optimizers; ++i) {
        restore_optimizer(&kept->optimizers[i]);
    }
    restore_buffers(kept);
    for (size_t i = 0; i < kept->n_contents; ++i) {
        restore_contents(&kept->contents[i]);
    }
    adzi_index_free(&kept->by_leaf);
    adzi_index_free(&kept->by_storage);
    adzi_free(kept->contents, kept->contents_capacity * sizeof *kept->contents);
    adzi_free(kept->gradients, kept->gradients_capacity * sizeof *kept->gradients);
    adzi_free(kept->optimizers, kept->optimizers_capacity * sizeof *kept->optimizers);
    adzi_free(kept->buffers, kept->buffers_capacity * sizeof *kept->buffers);
    adzi_free(kept, sizeof *kept);
}
