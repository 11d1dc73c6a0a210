/* States: lists of named tensors, to which they own a reference. */
#include "nn/state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/index.h"
#include "tensor/tensor.h"

typedef struct entry {
    char *name;
    adz_tensor *tensor;
} entry;

struct adz_state_dict {
    adzi_handle handle;
    entry *entries;
    size_t count, capacity;
    adzi_index names; /* finds an entry by its name */
};

adz_tensor_list adz_tensor_list_of(adz_tensor *const *items, size_t count)
{
    return (adz_tensor_list){ items, count };
}

adz_state_dict *adz_state_dict_new(void)
{
    adz_state_dict *state = adzi_handle_new(sizeof *state);
    return state != NULL ? state : adzi_fail_memory("adz_state_dict_new", sizeof *state);
}

void adz_state_dict_free(adz_state_dict **state)
{
    adz_state_dict *gone = adzi_handle_take("adz_state_dict_free", "state", state);
    if (gone == NULL) {
        return;
    }
    for (size_t i = 0; i < gone->count; ++i) {
        adzi_string_free(gone->entries[i].name);
        adzi_drop(gone->entries[i].tensor);
    }
    adzi_free(gone->entries, gone->capacity * sizeof(entry));
    adzi_index_free(&gone->names);
    adzi_handle_end(gone, sizeof *gone);
}

/* Callback of adzi_index_find: true if the entry at `position` has this name. */
static bool is_entry(const void *list, size_t position, const void *name, size_t size)
{
    (void)size;
    return strcmp(((const entry *)list)[position].name, name) == 0;
}

size_t adzi_state_find(const adz_state_dict *state, const char *name)
{
    size_t position = adzi_index_find(&state->names, name, strlen(name), is_entry, state->entries);
    return position != ADZI_NOWHERE ? position : state->count;
}

adz_status adz_state_dict_add(adz_state_dict *state, const char *name, adz_tensor *t)
{
    static const char op[] = "adz_state_dict_add";
    if (!adzi_check_handle(op, "state", state)) {
        return adz_error_code();
    }
    if (name == NULL) {
        return adzi_error_null(op, "name");
    }
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    if (name[0] == '\0') {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "the name is empty");
    }
    if (adzi_state_find(state, name) != state->count) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "there is a tensor called %s already", name);
    }
    char *copy = adzi_string_copy(name);
    if (copy == NULL || !adzi_index_reserve(&state->names, 1) ||
        !adzi_grow(&state->entries, &state->capacity, state->count + 1, sizeof(entry))) {
        adzi_string_free(copy);
        adzi_fail_memory(op, sizeof(entry));
        return ADZ_ERR_MEMORY;
    }
    adzi_index_enter(&state->names, copy, strlen(copy), state->count);
    state->entries[state->count++] = (entry){ copy, adzi_retain(t) };
    return ADZ_OK;
}

size_t adz_state_dict_count(const adz_state_dict *state)
{
    return state != NULL ? state->count : 0;
}

/* The entry with this index; NULL with the error recorded under `op`. */
static const entry *at(const char *op, const adz_state_dict *state, size_t index)
{
    if (!adzi_check_handle(op, "state", state)) {
        return NULL;
    }
    if (index >= state->count) {
        return adzi_fail(op, ADZ_ERR_INDEX, "there is no entry %zu, only %zu", index, state->count);
    }
    return &state->entries[index];
}

const char *adz_state_dict_name_at(const adz_state_dict *state, size_t index)
{
    const entry *e = at("adz_state_dict_name_at", state, index);
    return e != NULL ? e->name : NULL;
}

adz_tensor *adz_state_dict_at(const adz_state_dict *state, size_t index)
{
    const entry *e = at("adz_state_dict_at", state, index);
    return e != NULL ? e->tensor : NULL;
}

adz_tensor *adz_state_dict_get(const adz_state_dict *state, const char *name)
{
    if (!adzi_check_handle("adz_state_dict_get", "state", state)) {
        return NULL;
    }
    if (name == NULL) {
        return adzi_fail_null("adz_state_dict_get", "name");
    }
    size_t i = adzi_state_find(state, name);
    return i < state->count ? state->entries[i].tensor : NULL;
}
