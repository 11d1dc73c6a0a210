/* Buffers of a call that an activation checkpoint repeats: noted, exchanged and put back. */
#include "nn/checkpoint_buffers.h"

#include "adze/ops.h"
#include "base/alloc.h"
#include "base/error.h"
#include "nn/parametrize.h"

/* Notes one buffer. A spectral norm computes with the vectors that it moves, so that the second
 * call needs their values before the first one. */
static bool note_buffer(adzi_noted_buffers *all, adz_module *module, size_t i)
{
    adz_tensor *t = module->buffers[i].tensor;
    const bool none = adzi_is_none(t), moves = !none && adzi_is_spectral_norm(module);
    const uint32_t version = none ? 0 : t->storage->version;
    t = moves ? adz_clone(t) : t;
    if (t != NULL) {
        all->items[all->count++] =
            (adzi_noted_buffer){ module, i, none ? t : adzi_retain(t), version, moves };
    }
    return t != NULL;
}

/* Visitor of adz_module_apply: notes the module's buffers with their versions. */
static adz_status note_module(adz_module *module, void *user)
{
    adzi_noted_buffers *all = user;
    if (!adzi_grow(
            &all->items, &all->capacity, all->count + module->n_buffers, sizeof *all->items)) {
        adzi_fail_memory(all->op, module->n_buffers * sizeof *all->items);
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < module->n_buffers; ++i) {
        if (!note_buffer(all, module, i)) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

adz_status adzi_note_buffers(adzi_noted_buffers *all, adz_module *module)
{
    return adz_module_apply(module, note_module, all);
}

void adzi_noted_buffers_free(adzi_noted_buffers *all)
{
    for (size_t i = 0; i < all->count; ++i) {
        adzi_drop(all->items[i].tensor);
    }
    adzi_free(all->items, all->capacity * sizeof *all->items);
}

/* Visitor of adz_module_apply: checks that the module has the buffers that were noted. */
static adz_status compare_buffers(adz_module *module, void *user)
{
    adzi_buffer_exchange *e = user;
    for (size_t i = 0; i < module->n_buffers && e->fits; ++i) {
        e->fits = e->next < e->noted->count;
        if (e->fits) {
            const adzi_noted_buffer *found = &e->noted->items[e->next++];
            e->fits = found->module == module && found->index == i;
        }
    }
    return ADZ_OK;
}

static adz_tensor **position_of(const adzi_noted_buffer *found)
{
    return &found->module->buffers[found->index].tensor;
}

/* What the second call has in place of `now`, which is returned if it may stay. A buffer that was
 * changed in place since then gives a copy of its current values, so that the second call does not
 * change it once more. NULL with the error recorded. */
static adz_tensor *replacement(const adzi_noted_buffer *found, adz_tensor *now)
{
    adz_tensor *then = found->tensor;
    if (found->moves) {
        return adz_clone(then); /* the graph may be used again */
    }
    return now == then && !adzi_is_none(now) && now->storage->version != found->version
               ? adz_clone(now)
               : then;
}

adz_status adzi_buffers_exchange(
    adzi_buffer_exchange *e, const adzi_noted_buffers *noted, adz_module *module)
{
    *e = (adzi_buffer_exchange){ .noted = noted, .fits = true };
    adz_module_apply(module, compare_buffers, e);
    if (!e->fits || e->next != noted->count) {
        return adzi_error(
            noted->op, ADZ_ERR_STATE, "the module has other buffers than in the forward");
    }
    size_t bytes = noted->count * sizeof(adz_tensor *);
    e->now = adzi_alloc_zero(bytes);
    if (e->now == NULL) {
        adzi_fail_memory(noted->op, bytes);
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < noted->count; ++i) {
        const adzi_noted_buffer *found = &noted->items[i];
        adz_tensor *now = *position_of(found), *then = replacement(found, now);
        if (then == NULL) {
            return adz_error_code();
        }
        if (now != then) {
            e->now[i] = now;
            *position_of(found) = adzi_is_none(then) ? then : adzi_retain(then);
            adzi_module_buffer_replaced(found->module);
        }
    }
    return ADZ_OK;
}

void adzi_buffers_put_back(adzi_buffer_exchange *e)
{
    if (e->now == NULL) {
        return;
    }
    for (size_t i = 0; i < e->noted->count; ++i) {
        if (e->now[i] != NULL) {
            const adzi_noted_buffer *found = &e->noted->items[i];
            adzi_drop(*position_of(found));
            *position_of(found) = e->now[i];
            adzi_module_buffer_replaced(found->module);
        }
    }
    adzi_free(e->now, e->noted->count * sizeof(adz_tensor *));
}
