/* Memory of tokenizers: arrays that grow, and tables from texts to numbers. It is memory of
 * tensors, so that the memory limit counts it. */
#ifndef ADZI_MODELS_TOKENIZERS_MEMORY_H
#define ADZI_MODELS_TOKENIZERS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "adze/data/text.h"

/** Memory of zeros; NULL with the error recorded. */
void *adzi_tok_alloc(size_t bytes);

/** Frees memory of adzi_tok_alloc and of arrays. NULL is left alone. */
void adzi_tok_free(void *memory);

/** Slow path of adzi_tok_reserve. */
bool adzi_tok_grow(void **array, size_t *capacity, size_t need, size_t size);

/** Makes room for `need` elements of `size` bytes in an array, whose address is given. The array
 * moves. False with the error recorded. */
static inline bool adzi_tok_reserve(void *array, size_t *capacity, size_t need, size_t size)
{
    return need <= *capacity || adzi_tok_grow(array, capacity, need, size);
}

/** Bytes that grow. All zeros is empty. */
typedef struct adzi_tok_bytes {
    char *at;
    size_t size, capacity;
} adzi_tok_bytes;

/** Appends bytes. False with the error recorded. */
bool adzi_tok_append(adzi_tok_bytes *to, const char *bytes, size_t size);

/** A hash of bytes. */
static inline uint64_t adzi_tok_hash(const char *bytes, size_t size)
{
    uint64_t hash = size * 0x9e3779b97f4a7c15u;
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0xd6e8feb86659fd93u;
        hash ^= hash >> 32;
        bytes += 8;
        size -= 8;
    }
    uint64_t word = 0;
    if (size >= 4) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + size - 4, 4);
        word = (uint64_t)high << 32 | low;
    } else if (size > 0) {
        word = (uint64_t)(unsigned char)bytes[0] << 16 |
               (uint64_t)(unsigned char)bytes[size / 2] << 8 | (unsigned char)bytes[size - 1];
    }
    hash = (hash ^ word) * 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

/** A table from texts to numbers. The texts lie in the table. All zeros is empty. */
typedef struct adzi_tok_map {
    struct adzi_tok_slot *slots;
    size_t mask, count; /* slots are mask + 1, a power of two */
    adzi_tok_bytes texts;
} adzi_tok_map;

typedef struct adzi_tok_slot {
    uint32_t hash, begin, size;
    int32_t value; /* -1: the slot is empty */
} adzi_tok_slot;

/** The number of a text, or -1. */
static inline int32_t adzi_tok_map_find(const adzi_tok_map *map, const char *bytes, size_t size)
{
    if (map->count == 0) {
        return -1;
    }
    const uint64_t hash = adzi_tok_hash(bytes, size);
    for (size_t i = (size_t)hash & map->mask;; i = (i + 1) & map->mask) {
        const adzi_tok_slot *slot = &map->slots[i];
        if (slot->value < 0 || (slot->hash == (uint32_t)(hash >> 32) && slot->size == size &&
                                   memcmp(map->texts.at + slot->begin, bytes, size) == 0)) {
            return slot->value;
        }
    }
}

/** Sets the number of a text, 0 or more; a later number replaces an earlier one. False with the
 * error recorded. */
bool adzi_tok_map_set(adzi_tok_map *map, const char *bytes, size_t size, int32_t value);

void adzi_tok_map_free(adzi_tok_map *map);

/** A trie of bytes: edges from (node, byte) to nodes, by hash. Node 0 is the root. */
typedef struct adzi_tok_trie {
    struct adzi_tok_edge *edges;
    size_t mask, count; /* edges are mask + 1 */
    int32_t *values;    /* of each node: the number of the text that ends there, or -1 */
    size_t nodes, room;
} adzi_tok_trie;

typedef struct adzi_tok_edge {
    uint32_t key; /* 256 * node + byte */
    uint32_t to;  /* 0: the edge is empty */
} adzi_tok_edge;

/** The node behind an edge; 0 if there is none. */
static inline uint32_t adzi_tok_trie_next(const adzi_tok_trie *trie, uint32_t node, char byte)
{
    const uint32_t key = node << 8 | (unsigned char)byte;
    for (size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 24) & trie->mask;;
         i = (i + 1) & trie->mask) {
        const adzi_tok_edge *edge = &trie->edges[i];
        if (edge->to == 0 || edge->key == key) {
            return edge->to;
        }
    }
}

/** Adds a text with its number. False with the error recorded. */
bool adzi_tok_trie_add(adzi_tok_trie *trie, const char *bytes, size_t size, int32_t value);

void adzi_tok_trie_free(adzi_tok_trie *trie);

#endif
