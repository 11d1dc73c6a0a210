/* A hash table with linear probing, and the keyed hash that it uses. */
#include "base/index.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/alloc.h"

/* ---- the hash ------------------------------------------------------------------------------- */

static uint64_t rotated(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] = rotated(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[2] = rotated(v[2], 32);
}

/* Reads n bytes, at most 8, as a little-endian number. */
static uint64_t read_word(const unsigned char *bytes, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; ++i) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

uint64_t adzi_keyed_hash(const uint64_t key[2], const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573) };
    for (size_t left = size;; left -= 8, at += 8) {
        bool last = left < 8;
        uint64_t word = last ? read_word(at, left) | (uint64_t)size << 56 : read_word(at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
        if (last) {
            break;
        }
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 3; ++i) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- the secret ----------------------------------------------------------------------------- */

/* The key of the hash; 0 until it is drawn. */
static atomic_uint_least64_t secret;

/* Draws the secret from the system's random numbers. If the system has none to give, the secret is
 * made of the time and of addresses in memory, which nobody outside the process knows. */
static uint64_t draw_secret(void)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, GRND_NONBLOCK) != (ssize_t)sizeof drawn) {
        struct timespec now = { 0 };
        (void)timespec_get(&now, TIME_UTC);
        const uint64_t parts[] = { (uint64_t)(uintptr_t)&now, (uint64_t)now.tv_sec,
            (uint64_t)now.tv_nsec, (uint64_t)(uintptr_t)&secret };
        drawn = adzi_keyed_hash(parts, parts, sizeof parts);
    }
    return drawn | 1;
}

/* The hash of a key. The first thread that asks draws the secret for the whole process. */
static uint64_t hash_of(const void *key, size_t size)
{
    uint_least64_t known = atomic_load_explicit(&secret, memory_order_relaxed);
    if (known == 0) {
        uint_least64_t drawn = draw_secret();
        known = atomic_compare_exchange_strong(&secret, &known, drawn) ? drawn : known;
    }
    const uint64_t keys[2] = { known, ~known };
    return adzi_keyed_hash(keys, key, size);
}

/* ---- the table ------------------------------------------------------------------------------ */

static _Thread_local uint64_t probes;

uint64_t adzi_index_probes(void)
{
    return probes;
}

size_t adzi_index_find(
    const adzi_index *index, const void *key, size_t size, adzi_index_match match, const void *list)
{
    if (index->n_slots == 0) {
        return ADZI_NOWHERE;
    }
    const uint64_t hash = hash_of(key, size);
    for (size_t at = (size_t)hash & (index->n_slots - 1);; at = (at + 1) & (index->n_slots - 1)) {
        const adzi_index_slot *slot = &index->slots[at];
        ++probes;
        if (slot->position == 0) {
            return ADZI_NOWHERE;
        }
        if (slot->hash == hash && match(list, slot->position - 1, key, size)) {
            return slot->position - 1;
        }
    }
}

/* Puts an entry into the first free slot at or after the position that its hash gives. */
static void put(adzi_index_slot *slots, size_t n_slots, adzi_index_slot entry)
{
    size_t at = (size_t)entry.hash & (n_slots - 1);
    for (; slots[at].position != 0; at = (at + 1) & (n_slots - 1)) {
        ++probes;
    }
    ++probes;
    slots[at] = entry;
}

bool adzi_index_reserve(adzi_index *index, size_t more)
{
    if (more > SIZE_MAX / sizeof *index->slots / 4 - index->count) {
        return false;
    }
    if (2 * (index->count + more) <= index->n_slots) {
        return true;
    }
    size_t n_slots = index->n_slots == 0 ? 16 : 2 * index->n_slots;
    while (n_slots < 2 * (index->count + more)) {
        n_slots *= 2;
    }
    adzi_index_slot *slots = adzi_alloc_zero(n_slots * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < index->n_slots; ++i) {
        if (index->slots[i].position != 0) {
            put(slots, n_slots, index->slots[i]);
        }
    }
    adzi_free(index->slots, index->n_slots * sizeof *slots);
    index->slots = slots;
    index->n_slots = n_slots;
    return true;
}

void adzi_index_enter(adzi_index *index, const void *key, size_t size, size_t position)
{
    put(index->slots, index->n_slots, (adzi_index_slot){ hash_of(key, size), position + 1 });
    ++index->count;
}

static bool is_address(const void *list, size_t position, const void *key, size_t size)
{
    uintptr_t address;
    (void)list;
    memcpy(&address, key, size);
    return position == (size_t)address;
}

bool adzi_index_has_address(const adzi_index *index, const void *address)
{
    const uintptr_t key = (uintptr_t)address;
    return adzi_index_find(index, &key, sizeof key, is_address, NULL) != ADZI_NOWHERE;
}

void adzi_index_enter_address(adzi_index *index, const void *address)
{
    const uintptr_t key = (uintptr_t)address;
    adzi_index_enter(index, &key, sizeof key, (size_t)key);
}

void adzi_index_free(adzi_index *index)
{
    adzi_free(index->slots, index->n_slots * sizeof *index->slots);
    *index = (adzi_index){ 0 };
}
