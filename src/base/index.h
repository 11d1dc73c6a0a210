/* Finding where a key stands in a list: a hash table beside the list.
 *
 * Names come from files, so the hash is keyed with a secret of the process: nobody can prepare
 * names that collide. What a lookup costs therefore does not depend on how many names there are. */
#ifndef ADZI_BASE_INDEX_H
#define ADZI_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adzi_index_slot {
    uint64_t hash;
    size_t place; /* plus 1; 0 when the slot is free */
} adzi_index_slot;

/** Zeros are an empty index. */
typedef struct adzi_index {
    adzi_index_slot *slots;
    size_t n_slots, count; /* no slots, or a power of two of them of which half are free */
} adzi_index;

#define ADZI_NOWHERE SIZE_MAX

/** Whether the list's entry at `place` has this key of `size` bytes. */
typedef bool (*adzi_index_match)(const void *list, size_t place, const void *key, size_t size);

/** The place in `list` that was entered for the key, or ADZI_NOWHERE. */
size_t adzi_index_find(const adzi_index *index, const void *key, size_t size,
    adzi_index_match match, const void *list);

/** Makes room for so many more keys. False when memory was refused; then nothing has changed. */
bool adzi_index_reserve(adzi_index *index, size_t more);

/** Enters a key that is not there, after adzi_index_reserve. */
void adzi_index_enter(adzi_index *index, const void *key, size_t size, size_t place);

/** An index can also be a set of addresses, without a list: whether this one was entered. */
bool adzi_index_has_address(const adzi_index *index, const void *address);

/** Enters an address that is not there, after adzi_index_reserve. */
void adzi_index_enter_address(adzi_index *index, const void *address);

void adzi_index_free(adzi_index *index);

/** Slots that this thread has looked at in all indices: tests count them. */
uint64_t adzi_index_probes(void);

/** SipHash-1-3 (Aumasson and Bernstein) of some bytes under a key. */
uint64_t adzi_keyed_hash(const uint64_t key[2], const void *bytes, size_t size);

#endif
