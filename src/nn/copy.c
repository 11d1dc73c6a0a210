/* Deep copies: one new object for each old one, wherever it stands. */
#include "nn/module.h"

#include <string.h>

#include "tensor/copy.h"
#include "tensor/error.h"

typedef struct pair {
    const void *original;
    void *copy;
} pair;

/* What has been copied so far: modules hold a reference each, tensors too. */
typedef struct copies {
    pair *modules, *tensors;
    size_t n_modules, modules_capacity, n_tensors, tensors_capacity;
} copies;

static const char op[] = "adz_module_copy";

static void *find(const pair *pairs, size_t count, const void *original)
{
    for (size_t i = 0; i < count; ++i) {
        if (pairs[i].original == original) {
            return pairs[i].copy;
        }
    }
    return NULL;
}

/* Remembers a copy, whose reference the list takes over on success. */
static bool remember(
    pair **pairs, size_t *count, size_t *capacity, const void *original, void *copy)
{
    if (!adzi_grow(pairs, capacity, *count + 1, sizeof **pairs)) {
        adzi_fail_memory(op, sizeof **pairs);
        return false;
    }
    (*pairs)[(*count)++] = (pair){ original, copy };
    return true;
}

/* The copy of a tensor, borrowed from the list. */
static adz_tensor *copy_tensor(copies *all, adz_tensor *t)
{
    if (adzi_is_none(t)) {
        return t;
    }
    adz_tensor *copy = find(all->tensors, all->n_tensors, t);
    if (copy != NULL) {
        return copy;
    }
    copy = adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (copy == NULL) {
        return NULL;
    }
    adzi_copy(copy, t);
    if (!remember(&all->tensors, &all->n_tensors, &all->tensors_capacity, t, copy)) {
        adzi_drop(copy);
        return NULL;
    }
    return copy;
}

static bool copy_slots(copies *all, adz_module *to, const adz_module *from)
{
    for (size_t i = 0; i < from->n_parameters; ++i) {
        const adzi_slot *slot = &from->parameters[i];
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

static bool copy_state(adz_module *to, adz_module *from)
{
    if (from->type.copy_state != NULL) {
        return from->type.copy_state(to, from) == ADZ_OK;
    }
    if (from->state_size > 0) {
        memcpy(to->state, from->state, from->state_size);
    }
    return true;
}

/* The copy of a module, borrowed from the list; NULL when it failed. */
static adz_module *copy_module(copies *all, adz_module *from)
{
    adz_module *to = find(all->modules, all->n_modules, from);
    if (to != NULL) {
        return to;
    }
    to = adz_module_new(from->identity, from->state_size);
    if (to == NULL || !remember(&all->modules, &all->n_modules, &all->modules_capacity, from, to)) {
        adz_module_free(&to);
        return NULL;
    }
    to->training = from->training;
    if (!copy_slots(all, to, from)) {
        return NULL;
    }
    for (size_t i = 0; i < from->n_children; ++i) {
        adz_module *child = copy_module(all, from->children[i].module);
        if (child == NULL ||
            adz_module_add_child(to, from->children[i].name, adz_module_keep(child)) == NULL) {
            return NULL;
        }
    }
    return copy_state(to, from) ? to : NULL;
}

adz_module *adz_module_copy(adz_module *module)
{
    if (module == NULL) {
        return adzi_fail_null(op, "module");
    }
    copies all = { 0 };
    adz_module *copy = copy_module(&all, module);
    if (copy != NULL) {
        adz_module_keep(copy);
    }
    for (size_t i = 0; i < all.n_modules; ++i) {
        adz_module *m = all.modules[i].copy;
        adz_module_free(&m);
    }
    for (size_t i = 0; i < all.n_tensors; ++i) {
        adzi_drop(all.tensors[i].copy);
    }
    adzi_free(all.modules, all.modules_capacity * sizeof *all.modules);
    adzi_free(all.tensors, all.tensors_capacity * sizeof *all.tensors);
    return copy;
}
