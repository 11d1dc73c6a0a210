/* States: named tensors that are kept. */
#include "nn/state.h"

#include <string.h>

#include "tensor/alloc.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

typedef struct entry {
    uint64_t hash;
    char *name;
    adz_tensor *tensor;
} entry;

struct adz_state {
    entry *entries;
    size_t count, capacity;
};

/* FNV-1a: comparing hashes first makes a search through ten thousand names cheap enough. */
uint64_t adzi_hash(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text != '\0'; ++text) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash;
}

adz_tensor_list adz_tensor_list_of(adz_tensor *const *items, size_t count)
{
    return (adz_tensor_list){ items, count };
}

adz_state *adz_state_new(void)
{
    adz_state *state = adzi_alloc_zero(sizeof *state);
    return state != NULL ? state : adzi_fail_memory("adz_state_new", sizeof *state);
}

void adz_state_free(adz_state **state)
{
    if (state == NULL || *state == NULL) {
        return;
    }
    for (size_t i = 0; i < (*state)->count; ++i) {
        adzi_string_free((*state)->entries[i].name);
        adzi_drop((*state)->entries[i].tensor);
    }
    adzi_free((*state)->entries, (*state)->capacity * sizeof(entry));
    adzi_free(*state, sizeof **state);
    *state = NULL;
}

/* Where a name stands, or count; looked for from `hint` on, since both sides of a load mostly have
 * the same order. */
size_t adzi_state_find(const adz_state *state, const char *name, size_t hint)
{
    uint64_t hash = adzi_hash(name);
    for (size_t k = 0; k < state->count; ++k) {
        size_t i = (hint + k) % state->count;
        if (state->entries[i].hash == hash && strcmp(state->entries[i].name, name) == 0) {
            return i;
        }
    }
    return state->count;
}

adz_status adz_state_add(adz_state *state, const char *name, adz_tensor *t)
{
    static const char op[] = "adz_state_add";
    if (state == NULL || name == NULL) {
        return adzi_error_null(op, state == NULL ? "state" : "name");
    }
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    if (name[0] == '\0') {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "the name is empty");
    }
    if (adzi_state_find(state, name, 0) != state->count) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "there is a tensor called %s already", name);
    }
    char *copy = adzi_string_copy(name);
    if (copy == NULL ||
        !adzi_grow(&state->entries, &state->capacity, state->count + 1, sizeof(entry))) {
        adzi_string_free(copy);
        adzi_fail_memory(op, sizeof(entry));
        return ADZ_ERR_MEMORY;
    }
    state->entries[state->count++] = (entry){ adzi_hash(copy), copy, adzi_retain(t) };
    return ADZ_OK;
}

size_t adz_state_count(const adz_state *state)
{
    return state != NULL ? state->count : 0;
}

static const entry *at(const char *op, const adz_state *state, size_t index)
{
    if (state == NULL) {
        return adzi_fail_null(op, "state");
    }
    if (index >= state->count) {
        return adzi_fail(op, ADZ_ERR_INDEX, "there is no entry %zu, only %zu", index, state->count);
    }
    return &state->entries[index];
}

const char *adz_state_name(const adz_state *state, size_t index)
{
    const entry *e = at("adz_state_name", state, index);
    return e != NULL ? e->name : NULL;
}

adz_tensor *adz_state_tensor(const adz_state *state, size_t index)
{
    const entry *e = at("adz_state_tensor", state, index);
    return e != NULL ? e->tensor : NULL;
}

adz_tensor *adz_state_find(const adz_state *state, const char *name)
{
    if (state == NULL || name == NULL) {
        return adzi_fail_null("adz_state_find", state == NULL ? "state" : "name");
    }
    size_t i = adzi_state_find(state, name, 0);
    return i < state->count ? state->entries[i].tensor : NULL;
}
