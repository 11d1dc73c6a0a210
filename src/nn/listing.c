/* The walk over a tree of modules, and the lists of its parameters and buffers that it makes. */
#include "nn/module.h"

#include <string.h>

#include "base/error.h"
#include "base/index.h"

/* The last number that a change took, see Note [When a listing is stale]. */
static atomic_uint_least64_t changes;

void adzi_module_changed(adz_module *module)
{
    module->changed = atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed) + 1;
}

void adzi_module_buffer_replaced(adz_module *module)
{
    module->buffers_changed = atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed) + 1;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Raises both stamps to the largest number of a change in the tree. */
static void find_stamps(const adz_module *module, uint64_t *stamp, uint64_t *buffers_stamp)
{
    *stamp = later(*stamp, module->changed);
    *buffers_stamp = later(*buffers_stamp, module->buffers_changed);
    for (size_t i = 0; i < module->n_children; ++i) {
        find_stamps(module->children[i].module, stamp, buffers_stamp);
    }
}

adz_status adzi_module_walk(
    adz_module *module, adzi_text *prefix, adzi_module_visit visit, void *user)
{
    adz_status status = visit(module, adzi_text_get(prefix), user);
    size_t length = prefix->length;
    for (size_t i = 0; i < module->n_children && status == ADZ_OK; ++i) {
        adzi_text_add(prefix, module->children[i].name);
        adzi_text_add(prefix, ".");
        status = prefix->failed ? adzi_error("adz_module", ADZ_ERR_MEMORY, "no memory for a name")
                                : adzi_module_walk(module->children[i].module, prefix, visit, user);
        adzi_text_cut(prefix, length);
    }
    return status;
}

/* ---- listings ------------------------------------------------------------------------------- */

static void names_free(adz_named_tensor *items, size_t count, size_t capacity)
{
    for (size_t i = 0; i < count; ++i) {
        adzi_string_free((char *)(uintptr_t)items[i].name); /* const for the users of the list */
    }
    adzi_free(items, capacity * sizeof *items);
}

void adzi_listing_free(adzi_listing *listing)
{
    if (listing != NULL) {
        names_free(listing->named, listing->n_parameters, listing->named_capacity);
        names_free(listing->buffers, listing->n_buffers, listing->buffers_capacity);
        adzi_free(listing->parameters, listing->parameters_capacity * sizeof *listing->parameters);
        adzi_free(listing, sizeof *listing);
    }
}

/* prefix + name in a separate string; NULL without an error recorded if memory is refused. */
static char *full_name(const char *prefix, const char *name)
{
    adzi_text text = { 0 };
    adzi_text_add(&text, prefix);
    adzi_text_add(&text, name);
    char *copy = text.failed ? NULL : adzi_string_copy(text.data);
    adzi_text_free(&text);
    return copy;
}

/* A list of tensors that grows. */
typedef struct growing {
    adz_named_tensor **items;
    size_t *count, *capacity;
    adzi_index listed; /* which tensors it has */
} growing;

typedef struct listing_walk {
    growing parameters, buffers;
} listing_walk;

/* Appends the slot's tensor under its full name, unless the slot is left out or parametrised, or
 * the tensor is listed already: tied parameters are listed once. False if memory is refused. */
static bool list(growing *to, const char *prefix, const adzi_slot *slot)
{
    if (slot->tensor == NULL || adzi_is_none(slot->tensor) ||
        adzi_index_has_address(&to->listed, slot->tensor)) {
        return true;
    }
    if (!adzi_index_reserve(&to->listed, 1) ||
        !adzi_grow(to->items, to->capacity, *to->count + 1, sizeof **to->items)) {
        return false;
    }
    char *name = full_name(prefix, slot->name);
    if (name == NULL) {
        return false;
    }
    adzi_index_enter_address(&to->listed, slot->tensor);
    (*to->items)[(*to->count)++] = (adz_named_tensor){ name, slot->tensor };
    return true;
}

static adz_status list_module(adz_module *module, const char *prefix, void *user)
{
    listing_walk *walk = user;
    bool good = true;
    for (size_t i = 0; i < module->n_parameters && good; ++i) {
        good = list(&walk->parameters, prefix, &module->parameters[i]);
    }
    for (size_t i = 0; i < module->n_buffers && good; ++i) {
        good = list(&walk->buffers, prefix, &module->buffers[i]);
    }
    return good ? ADZ_OK : adzi_error("adz_module", ADZ_ERR_MEMORY, "no memory for a list");
}

static adzi_listing *listing_new(
    const char *op, adz_module *module, uint64_t stamp, uint64_t buffers_stamp)
{
    adzi_listing *listing = adzi_alloc_zero(sizeof *listing);
    if (listing == NULL) {
        return adzi_fail_memory(op, sizeof *listing);
    }
    listing->stamp = stamp;
    listing->buffers_stamp = buffers_stamp;
    listing_walk walk = { .parameters = { &listing->named, &listing->n_parameters,
                              &listing->named_capacity, { 0 } },
        .buffers = { &listing->buffers, &listing->n_buffers, &listing->buffers_capacity, { 0 } } };
    adzi_text prefix = { 0 };
    adz_status status = adzi_module_walk(module, &prefix, list_module, &walk);
    adzi_text_free(&prefix);
    adzi_index_free(&walk.parameters.listed);
    adzi_index_free(&walk.buffers.listed);
    if (status == ADZ_OK && !adzi_grow(&listing->parameters, &listing->parameters_capacity,
                                listing->n_parameters, sizeof *listing->parameters)) {
        adzi_fail_memory(op, listing->n_parameters * sizeof *listing->parameters);
        status = ADZ_ERR_MEMORY;
    }
    if (status != ADZ_OK) {
        adzi_listing_free(listing);
        return NULL;
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        listing->parameters[i] = listing->named[i].tensor;
    }
    return listing;
}

/* Moves the new list of buffers into the old listing. The old list of parameters then stays where a
 * training loop that holds it expects it. */
static void exchange_buffers(adzi_listing *old, adzi_listing *listing)
{
    adzi_listing both = *old;
    old->buffers_stamp = listing->buffers_stamp;
    old->buffers = listing->buffers;
    old->n_buffers = listing->n_buffers;
    old->buffers_capacity = listing->buffers_capacity;
    listing->buffers = both.buffers;
    listing->n_buffers = both.n_buffers;
    listing->buffers_capacity = both.buffers_capacity;
}

const adzi_listing *adzi_module_listing(const char *op, adz_module *module)
{
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    uint64_t stamp = 0, buffers_stamp = 0;
    find_stamps(module, &stamp, &buffers_stamp);
    adzi_listing *old = module->listing;
    if (old != NULL && old->stamp == stamp && old->buffers_stamp == buffers_stamp) {
        return old;
    }
    adzi_listing *listing = listing_new(op, module, stamp, buffers_stamp);
    if (listing != NULL && old != NULL && old->stamp == stamp) {
        exchange_buffers(old, listing);
        adzi_listing_free(listing);
        return old;
    }
    if (listing != NULL) {
        adzi_listing_free(old);
        module->listing = listing;
    }
    return listing;
}

adz_tensor_list adz_module_parameters(adz_module *module)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_parameters", module);
    return listing != NULL ? (adz_tensor_list){ listing->parameters, listing->n_parameters }
                           : (adz_tensor_list){ NULL, 0 };
}

adz_named_list adz_module_named_parameters(adz_module *module)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_named_parameters", module);
    return listing != NULL ? (adz_named_list){ listing->named, listing->n_parameters }
                           : (adz_named_list){ NULL, 0 };
}

adz_named_list adz_module_named_buffers(adz_module *module)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_named_buffers", module);
    return listing != NULL ? (adz_named_list){ listing->buffers, listing->n_buffers }
                           : (adz_named_list){ NULL, 0 };
}

int64_t adz_module_numel(adz_module *module)
{
    const adzi_listing *listing = adzi_module_listing("adz_module_numel", module);
    if (listing == NULL) {
        return -1;
    }
    int64_t count = 0;
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        count += listing->parameters[i]->numel;
    }
    return count;
}
