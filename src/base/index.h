/* A hash table that finds the position of a key in a list. The list itself belongs to the caller.
 *
 * Keys may be names from files. The hash is keyed with a secret of the process, so that nobody can
 * prepare a file whose names collide. The cost of a lookup therefore does not grow with the number
 * of names. */
#ifndef ADZI_BASE_INDEX_H
#define ADZI_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adzi_index_slot {
    uint64_t hash;
    size_t position; /* the position plus 1; 0 if the slot is free */
} adzi_index_slot;

/** An index that is all zeros is empty. */
typedef struct adzi_index {
    adzi_index_slot *slots;
    size_t n_slots, count; /* n_slots is 0 or a power of two, and at least 2 * count */
} adzi_index;

/** The position of a key that is not in the index. */
#define ADZI_NOWHERE SIZE_MAX

/** Whether the list's entry at `position` has this key of `size` bytes. */
typedef bool (*adzi_index_match)(const void *list, size_t position, const void *key, size_t size);

/** The position in `list` that was entered for the key, or ADZI_NOWHERE. */
size_t adzi_index_find(const adzi_index *index, const void *key, size_t size,
    adzi_index_match match, const void *list);

/** Makes room for `more` keys. Returns false if memory was refused; the index is unchanged then. */
bool adzi_index_reserve(adzi_index *index, size_t more);

/** Enters a key that is not in the index. adzi_index_reserve must have made room for it. */
void adzi_index_enter(adzi_index *index, const void *key, size_t size, size_t position);

/** Whether an address was entered by adzi_index_enter_address. An index that is used in this way
 * is a set of addresses and has no list. */
bool adzi_index_has_address(const adzi_index *index, const void *address);

/** Enters an address that is not in the index. adzi_index_reserve must have made room for it. */
void adzi_index_enter_address(adzi_index *index, const void *address);

/** Frees the slots. The index is empty then. */
void adzi_index_free(adzi_index *index);

/** For tests: how many slots this thread has looked at, in all indices together. */
uint64_t adzi_index_probes(void);

/** SipHash-1-3 (Aumasson and Bernstein) of `size` bytes under a key of 128 bits. */
uint64_t adzi_keyed_hash(const uint64_t key[2], const void *bytes, size_t size);

#endif
