/* Deep copies of modules. Each module and each tensor of the tree is copied once, so that what is
 * shared in the original is shared in the copy: tied weights stay tied. */
#include "nn/parametrize.h"

#include <string.h>

#include "tensor/copy.h"
#include "base/error.h"
#include "base/index.h"

/* An original, module or tensor, and its copy. */
typedef struct pair {
    const void *original;
    void *copy;
} pair;

typedef struct pairs {
    pair *items;
    size_t count, capacity;
    adzi_index positions; /* finds an original by its address */
} pairs;

/* The modules and tensors that were copied so far. Each list holds a reference to every copy. */
typedef struct copies {
    pairs modules, tensors;
} copies;

static const char op[] = "adz_module_copy";

static bool is_original(const void *items, size_t position, const void *key, size_t size)
{
    return memcmp(&((const pair *)items)[position].original, key, size) == 0;
}

static void *find(const pairs *all, const void *original)
{
    size_t position =
        adzi_index_find(&all->positions, &original, sizeof original, is_original, all->items);
    return position != ADZI_NOWHERE ? all->items[position].copy : NULL;
}

/* Adds a copy to the list, which takes over the caller's reference on success. */
static bool remember(pairs *all, const void *original, void *copy)
{
    if (!adzi_index_reserve(&all->positions, 1) ||
        !adzi_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items)) {
        adzi_fail_memory(op, sizeof *all->items);
        return false;
    }
    adzi_index_enter(&all->positions, &original, sizeof original, all->count);
    all->items[all->count++] = (pair){ original, copy };
    return true;
}

/* Frees the list but not the copies in it. */
static void forget(pairs *all)
{
    adzi_free(all->items, all->capacity * sizeof *all->items);
    adzi_index_free(&all->positions);
}

/* The copy of a tensor, made now if there is none, borrowed from the list; NULL with the error
 * recorded. */
static adz_tensor *copy_tensor(copies *all, adz_tensor *t)
{
    if (adzi_is_none(t)) {
        return t;
    }
    adz_tensor *copy = find(&all->tensors, t);
    if (copy != NULL) {
        return copy;
    }
    copy = adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (copy == NULL) {
        return NULL;
    }
    adzi_copy(copy, t);
    if (!remember(&all->tensors, t, copy)) {
        adzi_drop(copy);
        return NULL;
    }
    return copy;
}

static bool copy_slots(copies *all, adz_module *to, const adz_module *from)
{
    for (size_t i = 0; i < from->n_parameters; ++i) {
        const adzi_slot *slot = &from->parameters[i];
        if (slot->tensor == NULL) { /* its originals are in a child */
            if (!adzi_parametrized_slot(op, to, slot->name)) {
                return false;
            }
            continue;
        }
        adz_tensor *t = copy_tensor(all, slot->tensor);
        if (adz_module_add_parameter(to, slot->name, t) == NULL) {
            return false;
        }
        if (!adzi_is_none(t)) {
            t->requires_grad = slot->tensor->requires_grad;
        }
    }
    for (size_t i = 0; i < from->n_buffers; ++i) {
        const adzi_slot *slot = &from->buffers[i];
        if (adz_module_add_buffer(
                to, slot->name, copy_tensor(all, slot->tensor), slot->persistent) == NULL) {
            return false;
        }
    }
    return true;
}

static bool copy_data(adz_module *to, adz_module *from)
{
    if (from->type.copy_data != NULL) {
        return from->type.copy_data(to, from) == ADZ_OK;
    }
    if (from->state_size > 0) {
        memcpy(to->state, from->state, from->state_size);
    }
    return true;
}

/* The copy of a module with its descendants, made now if there is none, borrowed from the list.
 * NULL with the error recorded; the list then has copies that are not complete. */
static adz_module *copy_module(copies *all, adz_module *from)
{
    adz_module *to = find(&all->modules, from);
    if (to != NULL) {
        return to;
    }
    to = adz_module_new(from->identity, from->state_size);
    if (to == NULL || !remember(&all->modules, from, to)) {
        adz_module_release(&to);
        return NULL;
    }
    to->training = from->training;
    if (!copy_slots(all, to, from)) {
        return NULL;
    }
    for (size_t i = 0; i < from->n_children; ++i) {
        adz_module *child = adz_module_keep(copy_module(all, from->children[i].module));
        if (adz_module_add_child(to, from->children[i].name, child) == NULL) {
            return NULL;
        }
    }
    return copy_data(to, from) ? to : NULL;
}

adz_module *adz_module_copy(adz_module *module)
{
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    copies all = { 0 };
    adz_module *copy = copy_module(&all, module);
    if (copy != NULL) {
        adz_module_keep(copy);
    }
    for (size_t i = 0; i < all.modules.count; ++i) {
        adz_module *m = all.modules.items[i].copy;
        adz_module_release(&m);
    }
    for (size_t i = 0; i < all.tensors.count; ++i) {
        adzi_drop(all.tensors.items[i].copy);
    }
    forget(&all.modules);
    forget(&all.tensors);
    return copy;
}
