#include "data/vocabulary.h"

#include <string.h>

#include "tensor/alloc.h"

/* FNV-1a */
static size_t hash(adz_text token)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < token.size; ++i) {
        h = (h ^ (unsigned char)token.bytes[i]) * UINT64_C(1099511628211);
    }
    return (size_t)(h ^ h >> 32);
}

adz_text adzi_vocabulary_get(const adzi_vocabulary *v, size_t number)
{
    const adzi_vocabulary_entry *entry = &v->entries[number];
    return (adz_text){ v->bytes + entry->begin, entry->size };
}

/* Where a token stands, or where it would. */
static size_t slot_of(const adzi_vocabulary *v, adz_text token)
{
    size_t slot = hash(token) & (v->n_slots - 1);
    for (; v->slots[slot] != 0; slot = (slot + 1) & (v->n_slots - 1)) {
        adz_text other = adzi_vocabulary_get(v, v->slots[slot] - 1);
        if (other.size == token.size && memcmp(other.bytes, token.bytes, token.size) == 0) {
            break;
        }
    }
    return slot;
}

/* At most half of the slots are taken. */
static bool make_room(adzi_vocabulary *v)
{
    if (2 * (v->count + 1) <= v->n_slots) {
        return true;
    }
    adzi_vocabulary wider = *v;
    wider.n_slots = v->n_slots == 0 ? 64 : 2 * v->n_slots;
    wider.slots = adzi_alloc_zero(wider.n_slots * sizeof *wider.slots);
    if (wider.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < v->count; ++i) {
        wider.slots[slot_of(&wider, adzi_vocabulary_get(v, i))] = (uint32_t)i + 1;
    }
    adzi_free(v->slots, v->n_slots * sizeof *v->slots);
    *v = wider;
    return true;
}

bool adzi_vocabulary_add(adzi_vocabulary *v, adz_text token)
{
    if (v->count >= INT32_MAX || !make_room(v)) {
        return false;
    }
    size_t slot = slot_of(v, token);
    if (v->slots[slot] != 0) {
        v->entries[v->slots[slot] - 1].count += 1;
        return true;
    }
    if (!adzi_grow(&v->bytes, &v->bytes_capacity, v->used + token.size + 1, 1) ||
        !adzi_grow(&v->entries, &v->entries_capacity, v->count + 1, sizeof *v->entries)) {
        return false;
    }
    if (token.size > 0) {
        memcpy(v->bytes + v->used, token.bytes, token.size);
    }
    v->entries[v->count] = (adzi_vocabulary_entry){ v->used, token.size, 1 };
    v->used += token.size;
    v->slots[slot] = (uint32_t)++v->count;
    return true;
}

int64_t adzi_vocabulary_find(const adzi_vocabulary *v, adz_text token)
{
    return v->n_slots == 0 ? -1 : (int64_t)v->slots[slot_of(v, token)] - 1;
}

void adzi_vocabulary_free(adzi_vocabulary *v)
{
    adzi_free(v->bytes, v->bytes_capacity);
    adzi_free(v->entries, v->entries_capacity * sizeof *v->entries);
    adzi_free(v->slots, v->n_slots * sizeof *v->slots);
    *v = (adzi_vocabulary){ 0 };
}
