/* Arrays, tables and tries of tokenizers. */
#include "memory.h"

#include "models.h"

/* ---- memory --------------------------------------------------------------------------------- */

void *adzi_tok_alloc(size_t bytes)
{
    if (bytes > (size_t)INT64_MAX / 2) {
        adz_error_set("tokenizer", ADZ_ERR_MEMORY, "it needs more memory than there can be");
        return NULL;
    }
    return adzi_models_alloc(bytes);
}

void adzi_tok_free(void *memory)
{
    adzi_models_free(memory);
}

bool adzi_tok_grow(void **array, size_t *capacity, size_t need, size_t size)
{
    size_t room = *capacity + *capacity / 2 + 32;
    room = room < need ? need : room;
    if (room > SIZE_MAX / 4 / size) {
        adz_error_set("tokenizer", ADZ_ERR_MEMORY, "it needs more memory than there can be");
        return false;
    }
    void *grown = adzi_tok_alloc(room * size);
    if (grown == NULL) {
        return false;
    }
    if (*capacity > 0) {
        memcpy(grown, *array, *capacity * size);
    }
    adzi_tok_free(*array);
    *array = grown;
    *capacity = room;
    return true;
}

bool adzi_tok_append(adzi_tok_bytes *to, const char *bytes, size_t size)
{
    if (!adzi_tok_reserve(&to->at, &to->capacity, to->size + size, 1)) {
        return false;
    }
    if (size > 0) {
        memcpy(to->at + to->size, bytes, size);
    }
    to->size += size;
    return true;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void enter(adzi_tok_slot *slots, size_t mask, uint64_t low, adzi_tok_slot slot)
{
    size_t i = (size_t)low & mask;
    while (slots[i].value >= 0) {
        i = (i + 1) & mask;
    }
    slots[i] = slot;
}

/* Doubles the slots. */
static bool widen(adzi_tok_map *map)
{
    const size_t n = map->slots == NULL ? 64 : 2 * (map->mask + 1);
    adzi_tok_slot *slots = adzi_tok_alloc(n * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        slots[i].value = -1;
    }
    for (size_t i = 0; map->slots != NULL && i <= map->mask; ++i) {
        const adzi_tok_slot slot = map->slots[i];
        if (slot.value >= 0) {
            enter(slots, n - 1, adzi_tok_hash(map->texts.at + slot.begin, slot.size), slot);
        }
    }
    adzi_tok_free(map->slots);
    map->slots = slots;
    map->mask = n - 1;
    return true;
}

bool adzi_tok_map_set(adzi_tok_map *map, const char *bytes, size_t size, int32_t value)
{
    const uint64_t hash = adzi_tok_hash(bytes, size);
    if (adzi_tok_map_find(map, bytes, size) >= 0) {
        size_t i = (size_t)hash & map->mask;
        while (map->slots[i].hash != (uint32_t)(hash >> 32) || map->slots[i].size != size ||
               memcmp(map->texts.at + map->slots[i].begin, bytes, size) != 0) {
            i = (i + 1) & map->mask;
        }
        map->slots[i].value = value;
        return true;
    }
    if (map->texts.size + size > UINT32_MAX) {
        adz_error_set("tokenizer", ADZ_ERR_FORMAT, "the tokens have more than 4 GiB of text");
        return false;
    }
    if ((map->slots == NULL || 2 * (map->count + 1) > map->mask + 1) && !widen(map)) {
        return false;
    }
    const adzi_tok_slot slot = { (uint32_t)(hash >> 32), (uint32_t)map->texts.size, (uint32_t)size,
        value };
    if (!adzi_tok_append(&map->texts, bytes, size)) {
        return false;
    }
    enter(map->slots, map->mask, hash, slot);
    map->count += 1;
    return true;
}

void adzi_tok_map_free(adzi_tok_map *map)
{
    adzi_tok_free(map->slots);
    adzi_tok_free(map->texts.at);
    *map = (adzi_tok_map){ 0 };
}

/* ---- tries ---------------------------------------------------------------------------------- */

static size_t position_of(uint32_t key, size_t mask)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 24) & mask;
}

static bool widen_trie(adzi_tok_trie *trie)
{
    const size_t n = trie->edges == NULL ? 64 : 2 * (trie->mask + 1);
    adzi_tok_edge *edges = adzi_tok_alloc(n * sizeof *edges);
    if (edges == NULL) {
        return false;
    }
    for (size_t i = 0; trie->edges != NULL && i <= trie->mask; ++i) {
        if (trie->edges[i].to != 0) {
            size_t k = position_of(trie->edges[i].key, n - 1);
            while (edges[k].to != 0) {
                k = (k + 1) & (n - 1);
            }
            edges[k] = trie->edges[i];
        }
    }
    adzi_tok_free(trie->edges);
    trie->edges = edges;
    trie->mask = n - 1;
    return true;
}

/* Adds a node; its number, or 0 with the error recorded. The root is the first one. */
static uint32_t add_node(adzi_tok_trie *trie)
{
    if (trie->nodes >= 1u << 24) {
        adz_error_set("tokenizer", ADZ_ERR_FORMAT, "the tokens have too many different beginnings");
        return 0;
    }
    if (!adzi_tok_reserve(&trie->values, &trie->room, trie->nodes + 1, sizeof *trie->values)) {
        return 0;
    }
    trie->values[trie->nodes] = -1;
    return (uint32_t)trie->nodes++;
}

bool adzi_tok_trie_add(adzi_tok_trie *trie, const char *bytes, size_t size, int32_t value)
{
    if (trie->nodes == 0) {
        add_node(trie);
        if (trie->nodes == 0) {
            return false;
        }
    }
    uint32_t node = 0;
    for (size_t i = 0; i < size; ++i) {
        if ((trie->edges == NULL || 2 * (trie->count + 1) > trie->mask + 1) && !widen_trie(trie)) {
            return false;
        }
        uint32_t next = adzi_tok_trie_next(trie, node, bytes[i]);
        if (next == 0) {
            const uint32_t key = node << 8 | (unsigned char)bytes[i];
            next = add_node(trie);
            if (next == 0) {
                return false;
            }
            size_t k = position_of(key, trie->mask);
            while (trie->edges[k].to != 0) {
                k = (k + 1) & trie->mask;
            }
            trie->edges[k] = (adzi_tok_edge){ key, next };
            trie->count += 1;
        }
        node = next;
    }
    trie->values[node] = value;
    return true;
}

void adzi_tok_trie_free(adzi_tok_trie *trie)
{
    adzi_tok_free(trie->edges);
    adzi_tok_free(trie->values);
    *trie = (adzi_tok_trie){ 0 };
}
