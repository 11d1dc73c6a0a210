/* Vocabularies: adding tokens and looking them up. */
#include "data/vocabulary.h"

#include <string.h>

#include "base/alloc.h"

adz_text adzi_vocabulary_get(const adzi_vocabulary *v, size_t number)
{
    const adzi_vocabulary_entry *entry = &v->entries[number];
    return (adz_text){ v->bytes + entry->begin, entry->size };
}

static bool is_token(const void *vocabulary, size_t position, const void *bytes, size_t size)
{
    adz_text token = adzi_vocabulary_get(vocabulary, position);
    return token.size == size && (size == 0 || memcmp(token.bytes, bytes, size) == 0);
}

static size_t position_of(const adzi_vocabulary *v, adz_text token)
{
    return adzi_index_find(&v->positions, token.bytes, token.size, is_token, v);
}

bool adzi_vocabulary_add(adzi_vocabulary *v, adz_text token)
{
    size_t position = position_of(v, token);
    if (position != ADZI_NOWHERE) {
        v->entries[position].count += 1;
        return true;
    }
    if (v->count >= INT32_MAX || !adzi_index_reserve(&v->positions, 1) ||
        !adzi_grow(&v->bytes, &v->bytes_capacity, v->used + token.size + 1, 1) ||
        !adzi_grow(&v->entries, &v->entries_capacity, v->count + 1, sizeof *v->entries)) {
        return false;
    }
    if (token.size > 0) {
        memcpy(v->bytes + v->used, token.bytes, token.size);
    }
    v->entries[v->count] = (adzi_vocabulary_entry){ v->used, token.size, 1 };
    v->used += token.size;
    adzi_index_enter(&v->positions, token.bytes, token.size, v->count++);
    return true;
}

int64_t adzi_vocabulary_find(const adzi_vocabulary *v, adz_text token)
{
    size_t position = position_of(v, token);
    return position != ADZI_NOWHERE ? (int64_t)position : -1;
}

void adzi_vocabulary_free(adzi_vocabulary *v)
{
    adzi_free(v->bytes, v->bytes_capacity);
    adzi_free(v->entries, v->entries_capacity * sizeof *v->entries);
    adzi_index_free(&v->positions);
}
